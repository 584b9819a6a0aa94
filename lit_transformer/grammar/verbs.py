"""The verbs: principal parts, government and objects in the three languages."""

from __future__ import annotations

from lit_transformer.grammar.entries import ACCUSATIVE, DATIVE, Modal, Verb
from lit_transformer.grammar.inflection import english_past, english_third, five, french_verb, german_verb

# key: English[/past][ particle, +preposition, or =to (explains it to me)] | German | French | frame | objects
# German: [prefix-]infinitive[/third person][/participle][*] [dat | preposition+case]; * makes the perfect with sein.
# French: infinitive[*] [à | de][+tonic] [noun]; * makes the perfect with etre, +tonic keeps a pronoun behind the
# preposition. A frame with ! is a state.
_TABLE = """
read: read/read | lesen/liest/gelesen | lire | transitive | readable
write: write/wrote | schreiben//geschrieben | écrire | transitive | written
translate: translate | übersetzen | traduire | transitive | text
eat: eat/ate | essen/isst/gegessen | manger | transitive | food
drink: drink/drank | trinken//getrunken | boire | transitive | drink
order: order | bestellen | commander | transitive | food drink
buy: buy/bought | kaufen | acheter | transitive | goods
sell: sell/sold | verkaufen | vendre | transitive | goods
open: open | auf-machen | ouvrir | transitive | openable
close: close | zu-machen | fermer | transitive | openable
see: see/saw | sehen/sieht/gesehen | voir | transitive | human animal building plant
look for: look +for | suchen | chercher | transitive | animal portable clothes
find: find/found | finden//gefunden | trouver | transitive | portable thing animal
lose: lose/lost | verlieren//verloren | perdre | transitive | portable
forget: forget/forgot | vergessen/vergisst/vergessen | oublier | transitive | portable
hide: hide/hid | verstecken | cacher | transitive | portable thing
repair: repair | reparieren | réparer | transitive | machine
clean: clean | putzen | nettoyer | transitive | room house washed
wash: wash | waschen/wäscht/gewaschen | laver | transitive | clothes dish washed
wear: wear/wore | tragen/trägt/getragen | porter | transitive | clothes
try on: try on | an-probieren//probiert | essayer | transitive | clothes
choose: choose/chose | aus-wählen | choisir | transitive | clothes readable viewed
build: build/built | bauen | construire | transitive | building
draw: draw/drew | zeichnen | dessiner | transitive | building animal plant
photograph: photograph | fotografieren | photographier | transitive | building animal plant human
visit: visit | besuchen | rendre à visite | transitive | human
tour: visit | besichtigen | visiter | transitive | visited
invite: invite | ein-laden/lädt/geladen | inviter | transitive | human
call: call | an-rufen//gerufen | appeler | transitive | human
meet: meet/met | treffen/trifft/getroffen | rencontrer | transitive | human
protect: protect | schützen | protéger | transitive | human animal plant
understand: understand/understood | verstehen//verstanden | comprendre | transitive | human noted abstract text
learn: learn | lernen | apprendre | transitive | learnable
hear: hear/heard | hören | entendre | transitive | song human animal
look at: look +at | an-schauen | regarder | transitive | viewed building plant
sing: sing/sang | singen//gesungen | chanter | transitive | song
throw away: throw/threw away | weg-werfen/wirft/geworfen | jeter | transitive | dish portable
write down: write/wrote down | auf-schreiben//geschrieben | noter | transitive | noted
tidy up: tidy up | auf-räumen | ranger | transitive | tidied
turn on: turn on | ein-schalten | allumer | transitive | device
turn off: turn off | aus-schalten | éteindre | transitive | device
take along: take/took along | mit-nehmen/nimmt/genommen | emporter | transitive | portable
rent: rent | mieten | louer | transitive | vehicle rented
feed: feed/fed | füttern | nourrir | transitive | animal
love: love | lieben | aimer | transitive! | human animal viewed song
know: know/knew | kennen//gekannt | connaître | transitive! | human song building
hate: hate | hassen | détester | transitive! | human animal
admire: admire | bewundern | admirer | transitive! | human building viewed
help: help | helfen/hilft/geholfen dat | aider | transitive | human
thank: thank | danken dat | remercier | transitive | human
answer: answer | antworten dat | répondre à | transitive | human
follow: follow | folgen* dat | suivre | transitive | human animal
listen to: listen +to | zu-hören dat | écouter | transitive | human
congratulate: congratulate | gratulieren dat | féliciter | transitive | human
obey: obey | gehorchen//gehorcht dat | obéir à | transitive | human
wait for: wait +for | warten auf+acc | attendre | transitive | human
think of: think/thought +of | denken//gedacht an+acc | penser à+tonic | transitive | human
talk about: talk +about | sprechen/spricht/gesprochen über+acc | parler de+tonic | transitive | human text viewed
dream of: dream +of | träumen von+dat | rêver de+tonic | transitive | human animal
laugh at: laugh +at | lachen über+acc | rire de+tonic | transitive | human
give: give/gave | geben/gibt/gegeben | donner | ditransitive | portable thing food plant
show: show/showed | zeigen | montrer | ditransitive | thing readable clothes house animal
send: send/sent | schicken | envoyer | ditransitive | sent written readable
bring: bring/brought | bringen//gebracht | apporter | ditransitive | thing food drink readable plant clothes
lend: lend/lent | leihen//geliehen | prêter | ditransitive | portable vehicle
return: return =to | zurück-geben/gibt/gegeben | rendre | ditransitive | portable vehicle
offer: offer | an-bieten//geboten | offrir | ditransitive | food drink sent plant
explain: explain =to | erklären | expliquer | ditransitive | abstract text
recommend: recommend =to | empfehlen/empfiehlt/empfohlen | recommander | ditransitive | readable viewed
tell: tell/told | erzählen | raconter | ditransitive | told
work: work | arbeiten | travailler | intransitive |
sleep: sleep/slept | schlafen/schläft/geschlafen | dormir | intransitive |
dance: dance | tanzen | danser | intransitive |
play: play | spielen | jouer | intransitive |
laugh: laugh | lachen | rire | intransitive |
smile: smile | lächeln | sourire | intransitive |
cry: cry | weinen | pleurer | intransitive |
swim: swim/swam | schwimmen//geschwommen* | nager | intransitive |
cook: cook | kochen | cuisiner | intransitive |
travel: travel/travelled | reisen* | voyager | intransitive |
arrive: arrive | an-kommen//gekommen* | arriver* | intransitive |
leave: leave/left | ab-reisen* | partir* | intransitive |
come back: come/came back | zurück-kommen//gekommen* | revenir* | intransitive |
go out: go/went out | aus-gehen//gegangen* | sortir* | intransitive |
live: live | wohnen | habiter | located! |
stay: stay | bleiben//geblieben* | rester* | located |
go: go/went | gehen//gegangen* | aller* | directed |
go far: go/went | fahren/fährt/gefahren* | aller* | directed |
come: come/came | kommen//gekommen* | venir* | directed |
run: run/ran | laufen/läuft/gelaufen* | courir | directed |
go back: return | zurück-kehren* | retourner* | directed |
put: put/put | legen | mettre | placing | thing portable
believe: believe | glauben | croire | clausal! |
know that: know/knew | wissen/weiß/gewusst | savoir | clausal! |
say: say/said | sagen | dire | clausal! |
hope: hope | hoffen | espérer | clausal! |
ask: ask | fragen | demander | clausal! |
try: try | versuchen | essayer de | infinitival |
forget to: forget/forgot | vergessen/vergisst/vergessen | oublier de | infinitival |
decide: decide | beschließen//beschlossen | décider de | infinitival |
begin: begin/began | an-fangen/fängt/gefangen | commencer à | infinitival |
rain: rain | regnen//geregnet | pleuvoir | weather |
snow: snow | schneien | neiger | weather |
"""

_MODALS = """
can | can can | kann kannst kann können können | peux peux peut pouvons peuvent
must | must must | muss musst muss müssen müssen | dois dois doit devons doivent
should | should should | sollte solltest sollte sollten sollten | devrais devrais devrait devrions devraient
want | want wants | will willst will wollen wollen | veux veux veut voulons veulent
"""


def _german(column: str) -> tuple[tuple[str, str, str, str, str], str, str, str, bool, int, str]:
    parts, *government = column.split()
    sein = "*" in parts
    infinitive, third, participle = (*parts.replace("*", "").split("/"), "", "")[:3]
    prefix, _, base = infinitive.rpartition("-")
    present, past = german_verb(base, third, participle)
    if base == "wissen":
        present = five("weiß weißt weiß wissen wissen")
    preposition, _, case = (government[0] if government else "acc").rpartition("+")
    return present, base, prefix, prefix + past, sein, {"acc": ACCUSATIVE, "dat": DATIVE}[case], preposition


def _read(line: str) -> Verb:
    head, german, french, frame, objects = (column.strip() for column in line.split("|"))
    key, english = head.split(": ")
    forms, *rest = english.split()
    base, _, past = forms.partition("/")
    extra = rest[0] if rest else ""
    french_infinitive, *french_rest = french.split()
    government, plus, _ = (french_rest[0] if french_rest else "").partition("+")
    french_present, french_future, french_participle = french_verb(french_infinitive.removesuffix("*"))
    present, german_infinitive, prefix, participle, sein, case, german_preposition = _german(german)
    return Verb(
        key=key,
        frame=frame.removesuffix("!"),
        objects=frozenset(objects.split()),
        english=(base, english_third(base), past or english_past(base)),
        particle=extra if extra[:1].isalpha() else "",
        preposition=extra[1:] if extra.startswith("+") else "",
        english_double=extra != "=to",
        german=present,
        german_infinitive=german_infinitive,
        german_prefix=prefix,
        german_participle=participle,
        german_sein=sein,
        german_case=case,
        german_preposition=german_preposition,
        french=french_present,
        french_infinitive=french_infinitive.removesuffix("*"),
        french_future=french_future,
        french_participle=french_participle,
        french_etre=french_infinitive.endswith("*"),
        french_preposition=government,
        french_tonic=plus == "+",
        french_noun=french_rest[1] if len(french_rest) > 1 else "",
        stative=frame.endswith("!"),
    )


def _modal(line: str) -> Modal:
    key, english, german, french = (column.strip() for column in line.split("|"))
    plain, third = english.split()
    return Modal(key, (plain, third), key == "want", five(german), five(french))


VERBS: dict[str, Verb] = {verb.key: verb for verb in map(_read, _TABLE.strip().splitlines())}
"""Every full verb by its key."""

BE = Verb(
    key="be",
    frame="copula",
    objects=frozenset(),
    english=("be", "is", "was"),
    particle="",
    preposition="",
    english_double=False,
    german=five("bin bist ist sind sind"),
    german_infinitive="sein",
    german_prefix="",
    german_participle="gewesen",
    german_sein=True,
    german_case=ACCUSATIVE,
    german_preposition="",
    french=five("suis es est sommes sont"),
    french_infinitive="être",
    french_future=five("serai seras sera serons seront"),
    french_participle="été",
    french_etre=False,
    french_preposition="",
    french_tonic=False,
    french_noun="",
    stative=True,
)
"""The copula: its past is was, war, était."""

MODALS: dict[str, Modal] = {modal.key: modal for modal in map(_modal, _MODALS.strip().splitlines())}
"""Every modal verb by its English form."""
