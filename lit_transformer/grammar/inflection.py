"""Inflection by rule: German and French verbs, English verbs and plurals.

Only what the rules cannot know is written down: principal parts of irregular verbs.
"""

from __future__ import annotations

Five = tuple[str, str, str, str, str]

_FRENCH_IRREGULAR = {
    "accueillir": ("accueille accueilles accueille accueillons accueillent", "accueiller", "accueilli"),
    "acheter": ("achète achètes achète achetons achètent", "achèter", "acheté"),
    "aller": ("vais vas va allons vont", "ir", "allé"),
    "appeler": ("appelle appelles appelle appelons appellent", "appeller", "appelé"),
    "apprendre": ("apprends apprends apprend apprenons apprennent", "apprendr", "appris"),
    "attendre": ("attends attends attend attendons attendent", "attendr", "attendu"),
    "avoir": ("ai as a avons ont", "aur", "eu"),
    "boire": ("bois bois boit buvons boivent", "boir", "bu"),
    "choisir": ("choisis choisis choisit choisissons choisissent", "choisir", "choisi"),
    "comprendre": ("comprends comprends comprend comprenons comprennent", "comprendr", "compris"),
    "connaître": ("connais connais connaît connaissons connaissent", "connaîtr", "connu"),
    "construire": ("construis construis construit construisons construisent", "construir", "construit"),
    "courir": ("cours cours court courons courent", "courr", "couru"),
    "croire": ("crois crois croit croyons croient", "croir", "cru"),
    "dire": ("dis dis dit disons disent", "dir", "dit"),
    "dormir": ("dors dors dort dormons dorment", "dormir", "dormi"),
    "écrire": ("écris écris écrit écrivons écrivent", "écrir", "écrit"),
    "entendre": ("entends entends entend entendons entendent", "entendr", "entendu"),
    "envoyer": ("envoie envoies envoie envoyons envoient", "enverr", "envoyé"),
    "espérer": ("espère espères espère espérons espèrent", "espérer", "espéré"),
    "essayer": ("essaie essaies essaie essayons essaient", "essaier", "essayé"),
    "éteindre": ("éteins éteins éteint éteignons éteignent", "éteindr", "éteint"),
    "être": ("suis es est sommes sont", "ser", "été"),
    "jeter": ("jette jettes jette jetons jettent", "jetter", "jeté"),
    "lire": ("lis lis lit lisons lisent", "lir", "lu"),
    "mettre": ("mets mets met mettons mettent", "mettr", "mis"),
    "nettoyer": ("nettoie nettoies nettoie nettoyons nettoient", "nettoier", "nettoyé"),
    "nourrir": ("nourris nourris nourrit nourrissons nourrissent", "nourrir", "nourri"),
    "obéir": ("obéis obéis obéit obéissons obéissent", "obéir", "obéi"),
    "offrir": ("offre offres offre offrons offrent", "offrir", "offert"),
    "ouvrir": ("ouvre ouvres ouvre ouvrons ouvrent", "ouvrir", "ouvert"),
    "partir": ("pars pars part partons partent", "partir", "parti"),
    "peindre": ("peins peins peint peignons peignent", "peindr", "peint"),
    "perdre": ("perds perds perd perdons perdent", "perdr", "perdu"),
    "pleuvoir": ("- - pleut - -", "pleuvr", "plu"),
    "protéger": ("protège protèges protège protégeons protègent", "protéger", "protégé"),
    "rendre": ("rends rends rend rendons rendent", "rendr", "rendu"),
    "répondre": ("réponds réponds répond répondons répondent", "répondr", "répondu"),
    "revenir": ("reviens reviens revient revenons reviennent", "reviendr", "revenu"),
    "rire": ("ris ris rit rions rient", "rir", "ri"),
    "savoir": ("sais sais sait savons savent", "saur", "su"),
    "sortir": ("sors sors sort sortons sortent", "sortir", "sorti"),
    "sourire": ("souris souris sourit sourions sourient", "sourir", "souri"),
    "suivre": ("suis suis suit suivons suivent", "suivr", "suivi"),
    "traduire": ("traduis traduis traduit traduisons traduisent", "traduir", "traduit"),
    "vendre": ("vends vends vend vendons vendent", "vendr", "vendu"),
    "venir": ("viens viens vient venons viennent", "viendr", "venu"),
    "voir": ("vois vois voit voyons voient", "verr", "vu"),
}

_UNPREFIXED = ("be", "emp", "ent", "er", "über", "ver")


def five(forms: str) -> Five:
    """Return the five persons written with spaces between them."""
    first, second, third, we, they = forms.split()
    return (first, second, third, we, they)


def french_verb(infinitive: str) -> tuple[Five, Five, str]:
    """Return present, future and past participle of a French verb.

    Args:
        infinitive: A regular verb in -er, or one of the irregular verbs known here.
    """
    if infinitive in _FRENCH_IRREGULAR:
        present, future, participle = _FRENCH_IRREGULAR[infinitive]
    else:
        stem = infinitive.removesuffix("er")
        if stem == infinitive:
            raise KeyError(infinitive)
        soft = {"g": stem + "e", "c": stem[:-1] + "ç"}.get(stem[-1], stem)
        present = f"{stem}e {stem}es {stem}e {soft}ons {stem}ent"
        future, participle = infinitive, stem + "é"
    return five(present), five(" ".join(future + ending for ending in ("ai", "as", "a", "ons", "ont"))), participle


def german_verb(infinitive: str, third: str = "", participle: str = "") -> tuple[Five, str]:
    """Return the present and the past participle of a German verb without its separable prefix.

    Args:
        infinitive: The infinitive.
        third: Third person singular, if the stem changes.
        participle: The past participle, if it is irregular.
    """
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    extra = "e" if stem[-1] in "td" or stem.endswith(("chn", "ffn", "gn")) else ""
    regular = f"{stem}{extra}t"
    if not participle:
        bare = stem.endswith("ier") or infinitive.startswith(_UNPREFIXED)
        participle = regular if bare else "ge" + regular
    third = third or regular
    second = third if third[-2] in "sßzx" else third[:-1] + "st"
    first = stem[:-2] + "le" if infinitive.endswith("eln") else stem + "e"
    return (first, second, third, infinitive, infinitive), participle


def english_third(base: str) -> str:
    """Return the third person singular, or by the same rule the plural of a noun."""
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "ch", "sh", "o")) else "s")


def english_past(base: str) -> str:
    """Return the past of a regular verb that doubles no consonant."""
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + ("d" if base.endswith("e") else "ed")
