"""Sentences translated by hand, phenomenon by phenomenon, against what the grammar makes of the same meaning."""

from __future__ import annotations

import pytest

from lit_transformer.data.grammar import PHENOMENA, english, french, german
from lit_transformer.data.grammar.adjectives import ADJECTIVES as A
from lit_transformer.data.grammar.function_words import (
    FREQUENCIES,
    GOALS,
    IT_WEATHER,
    LINKS,
    NEVER,
    PLACES,
    PREPOSITIONS,
    PRONOUNS,
    TIMES,
    WHAT,
    WHERE_TO,
    WHO,
    WHY,
)
from lit_transformer.data.grammar.nouns import NAMES, NOUNS
from lit_transformer.data.grammar.phenomena import describe
from lit_transformer.data.grammar.syntax import (
    Clause,
    NounPhrase,
    Predicate,
    PrepositionalPhrase,
    Sentence,
    refer_to,
)
from lit_transformer.data.grammar.verbs import BE, MODALS, VERBS

ME, YOU, HE, SHE, WE, THEY = (PRONOUNS[key] for key in ("i", "you", "he", "she", "we", "they"))
ANNA, PAUL, EMMA = (NounPhrase(NAMES[name]) for name in ("Anna", "Paul", "Emma"))
PHRASES = {phrase.english: phrase for table in (*TIMES.values(), PLACES, GOALS) for phrase in table}


def np(noun: str, determiner: str = "the", plural: bool = False, adjective: str = "") -> NounPhrase:
    return NounPhrase(NOUNS[noun], determiner, plural, A[adjective] if adjective else None)


def pp(preposition: str, noun: NounPhrase) -> PrepositionalPhrase:
    return PrepositionalPhrase(PREPOSITIONS[preposition], noun)


def with_relative(head: NounPhrase, clause: Clause) -> NounPhrase:
    head.relative = clause
    return head


def object_relative(head: NounPhrase, clause: Clause) -> NounPhrase:
    clause.object, clause.gap = head, "object"
    return with_relative(head, clause)


def subject_relative(head: NounPhrase, clause: Clause) -> NounPhrase:
    clause.subject, clause.gap = head, "subject"
    return with_relative(head, clause)


LAMPS = np("lamp", "the", True)
CAT, CAR, WOMAN, CAKE = np("cat"), np("car"), np("woman"), np("cake")
READ, BUY, SEE, HELP, GIVE = (VERBS[key] for key in ("read", "buy", "see", "help", "give"))
OPEN, CLOSE, CALL, GO = (VERBS[key] for key in ("open", "close", "call", "go"))

# Phenomena, sentence, English, German, French.
GOLDEN: list[tuple[str, Sentence, str, str, str]] = [
    (
        "adjective",
        Sentence(Clause(ANNA, BUY, object=np("hotel", "a", False, "new"))),
        "Anna buys a new hotel.",
        "Anna kauft ein neues Hotel.",
        "Anna achète un nouvel hôtel.",
    ),
    (
        "adjective",
        Sentence(Clause(np("man", "the", False, "old"), VERBS["wear"], object=np("coat", "a", False, "black"))),
        "The old man wears a black coat.",
        "Der alte Mann trägt einen schwarzen Mantel.",
        "Le vieil homme porte un manteau noir.",
    ),
    (
        "adjective",
        Sentence(Clause(WE, BUY, object=np("chair", "two", True, "expensive"))),
        "We buy two expensive chairs.",
        "Wir kaufen zwei teure Stühle.",
        "Nous achetons deux chaises chères.",
    ),
    (
        "adjective",
        Sentence(Clause(PAUL, VERBS["sell"], object=np("book", "bare", True, "old"))),
        "Paul sells old books.",
        "Paul verkauft alte Bücher.",
        "Paul vend de vieux livres.",
    ),
    (
        "dative adjective",
        Sentence(Clause(SHE, HELP, object=np("child", "the", True, "sick"))),
        "She helps the sick children.",
        "Sie hilft den kranken Kindern.",
        "Elle aide les enfants malades.",
    ),
    (
        "dative",
        Sentence(Clause(ANNA, GIVE, "past", object=np("key"), recipient=np("neighbour"))),
        "Anna gave the key to the neighbour.",
        "Anna hat dem Nachbarn den Schlüssel gegeben.",
        "Anna a donné la clé au voisin.",
    ),
    (
        "dative object_pronoun",
        Sentence(Clause(PAUL, GIVE, object=np("book", "a"), recipient=ME)),
        "Paul gives me a book.",
        "Paul gibt mir ein Buch.",
        "Paul me donne un livre.",
    ),
    (
        "dative object_pronoun",
        Sentence(Clause(PAUL, VERBS["explain"], object=np("word"), recipient=WE)),
        "Paul explains the word to us.",
        "Paul erklärt uns das Wort.",
        "Paul nous explique le mot.",
    ),
    (
        "dative negation object_pronoun",
        Sentence(Clause(ME, VERBS["answer"], object=HE, negated=True)),
        "I do not answer him.",
        "Ich antworte ihm nicht.",
        "Je ne lui réponds pas.",
    ),
    (
        "object_pronoun past",
        Sentence(Clause(ME, SEE, "past", object=THEY)),
        "I saw them.",
        "Ich habe sie gesehen.",
        "Je les ai vus.",
    ),
    (
        "object_pronoun past",
        Sentence(Clause(ANNA, VERBS["visit"], "past", object=HE)),
        "Anna visited him.",
        "Anna hat ihn besucht.",
        "Anna lui a rendu visite.",
    ),
    (
        "modal object_pronoun",
        Sentence(Clause(ANNA, SEE, object=HE, modal=MODALS["want"])),
        "Anna wants to see him.",
        "Anna will ihn sehen.",
        "Anna veut le voir.",
    ),
    (
        "modal negation separable_verb",
        Sentence(Clause(ME, OPEN, object=np("window"), modal=MODALS["can"], negated=True)),
        "I cannot open the window.",
        "Ich kann das Fenster nicht aufmachen.",
        "Je ne peux pas ouvrir la fenêtre.",
    ),
    (
        "modal negation",
        Sentence(Clause(PAUL, READ, object=np("letter"), modal=MODALS["want"], negated=True)),
        "Paul does not want to read the letter.",
        "Paul will den Brief nicht lesen.",
        "Paul ne veut pas lire la lettre.",
    ),
    (
        "separable_verb",
        Sentence(Clause(ME, OPEN, object=np("door"))),
        "I open the door.",
        "Ich mache die Tür auf.",
        "J'ouvre la porte.",
    ),
    (
        "separable_verb past object_pronoun",
        Sentence(Clause(EMMA, VERBS["throw away"], "past", object=THEY)),
        "Emma threw them away.",
        "Emma hat sie weggeworfen.",
        "Emma les a jetés.",
    ),
    (
        "separable_verb fronting past_with_sein past",
        Sentence(Clause(WOMAN, VERBS["come back"], "past", time=PHRASES["yesterday"], fronted=True)),
        "Yesterday the woman came back.",
        "Gestern ist die Frau zurückgekommen.",
        "Hier, la femme est revenue.",
    ),
    (
        "past_with_sein past preposition",
        Sentence(Clause(np("sister", "my", True), GO, "past", place=pp("to", np("station")))),
        "My sisters went to the station.",
        "Meine Schwestern sind zum Bahnhof gegangen.",
        "Mes sœurs sont allées à la gare.",
    ),
    (
        "preposition past past_with_sein",
        Sentence(Clause(HE, VERBS["run"], "past", place=pp("into", np("house")))),
        "He ran into the house.",
        "Er ist ins Haus gelaufen.",
        "Il a couru dans la maison.",
    ),
    (
        "preposition future",
        Sentence(Clause(HE, VERBS["work"], "future", place=pp("at_auf", np("market")), time=PHRASES["tomorrow"])),
        "He will work at the market tomorrow.",
        "Er wird morgen auf dem Markt arbeiten.",
        "Il travaillera au marché demain.",
    ),
    (
        "preposition",
        Sentence(Clause(ANNA, VERBS["put"], object=np("key"), place=pp("onto", np("table")))),
        "Anna puts the key on the table.",
        "Anna legt den Schlüssel auf den Tisch.",
        "Anna met la clé sur la table.",
    ),
    (
        "preposition",
        Sentence(Clause(np("key"), BE, place=pp("on", np("table", "this")))),
        "The key is on this table.",
        "Der Schlüssel ist auf diesem Tisch.",
        "La clé est sur cette table.",
    ),
    (
        "future fronting",
        Sentence(Clause(WE, VERBS["go far"], "future", place=PHRASES["to Italy"], time=PHRASES["soon"], fronted=True)),
        "Soon we will go to Italy.",
        "Bald werden wir nach Italien fahren.",
        "Bientôt, nous irons en Italie.",
    ),
    (
        "prepositional_object",
        Sentence(Clause(np("girl"), VERBS["wait for"], object=np("friend", "my"), negated=True)),
        "The girl does not wait for my friend.",
        "Das Mädchen wartet nicht auf meinen Freund.",
        "La fille n'attend pas mon ami.",
    ),
    (
        "prepositional_object object_pronoun",
        Sentence(Clause(HE, VERBS["think of"], object=ME, frequency=FREQUENCIES["often"])),
        "He often thinks of me.",
        "Er denkt oft an mich.",
        "Il pense souvent à moi.",
    ),
    (
        "prepositional_object past",
        Sentence(Clause(HE, VERBS["talk about"], "past", object=np("film", "the", True))),
        "He talked about the films.",
        "Er hat über die Filme gesprochen.",
        "Il a parlé des films.",
    ),
    (
        "negation",
        Sentence(Clause(PAUL, BUY, object=np("car", "a"), negated=True)),
        "Paul does not buy a car.",
        "Paul kauft kein Auto.",
        "Paul n'achète pas de voiture.",
    ),
    (
        "negation partitive",
        Sentence(Clause(SHE, VERBS["drink"], object=np("water", "bare"), frequency=NEVER)),
        "She never drinks water.",
        "Sie trinkt nie Wasser.",
        "Elle ne boit jamais d'eau.",
    ),
    (
        "negation past",
        Sentence(Clause(ME, READ, "past", object=np("newspaper"), negated=True, time=PHRASES["yesterday"])),
        "I did not read the newspaper yesterday.",
        "Ich habe die Zeitung gestern nicht gelesen.",
        "Je n'ai pas lu le journal hier.",
    ),
    (
        "partitive adjective",
        Sentence(Clause(YOU, VERBS["eat"], object=np("cheese", "bare", False, "fresh"))),
        "You eat fresh cheese.",
        "Du isst frischen Käse.",
        "Tu manges du fromage frais.",
    ),
    (
        "possessive",
        Sentence(Clause(ANNA, VERBS["invite"], "past", object=np("brother", "her"))),
        "Anna invited her brother.",
        "Anna hat ihren Bruder eingeladen.",
        "Anna a invité son frère.",
    ),
    (
        "possessive adjective",
        Sentence(Clause(PAUL, VERBS["lose"], "past", object=np("scarf", "his", False, "red"))),
        "Paul lost his red scarf.",
        "Paul hat seinen roten Schal verloren.",
        "Paul a perdu son écharpe rouge.",
    ),
    (
        "comparison",
        Sentence(Clause(np("house", "our"), BE, predicate=Predicate(A["old"], than=np("church")))),
        "Our house is older than the church.",
        "Unser Haus ist älter als die Kirche.",
        "Notre maison est plus vieille que l'église.",
    ),
    (
        "subordinate_clause negation separable_verb modal",
        Sentence(
            Clause(ANNA, VERBS["sleep"], negated=True),
            link=LINKS["because"],
            second=Clause(SHE, CALL, object=np("doctor"), modal=MODALS["must"]),
        ),
        "Anna does not sleep because she must call the doctor.",
        "Anna schläft nicht, weil sie den Arzt anrufen muss.",
        "Anna ne dort pas parce qu'elle doit appeler le médecin.",
    ),
    (
        "subordinate_clause separable_verb",
        Sentence(Clause(PAUL, VERBS["say"]), link=LINKS["that"], second=Clause(HE, CLOSE, object=np("door", "the"))),
        "Paul says that he closes the door.",
        "Paul sagt, dass er die Tür zumacht.",
        "Paul dit qu'il ferme la porte.",
    ),
    (
        "subordinate_clause separable_verb past negation",
        Sentence(
            Clause(ME, VERBS["know that"], negated=True),
            link=LINKS["whether"],
            second=Clause(HE, CALL, "past", object=EMMA),
        ),
        "I do not know whether he called Emma.",
        "Ich weiß nicht, ob er Emma angerufen hat.",
        "Je ne sais pas s'il a appelé Emma.",
    ),
    (
        "subordinate_clause fronting future",
        Sentence(
            Clause(ANNA, READ, "future", object=np("novel", "a")),
            link=LINKS["if"],
            second=Clause(IT_WEATHER, VERBS["rain"], time=PHRASES["tomorrow"]),
            second_first=True,
        ),
        "If it rains tomorrow, Anna will read a novel.",
        "Wenn es morgen regnet, wird Anna einen Roman lesen.",
        "S'il pleut demain, Anna lira un roman.",
    ),
    (
        "coordination anaphora object_pronoun past",
        Sentence(
            Clause(CAR, BE, "past", predicate=Predicate(A["expensive"], "too")),
            link=LINKS["so"],
            second=Clause(ME, BUY, "past", object=refer_to(CAR), negated=True),
        ),
        "The car was too expensive, so I did not buy it.",
        "Das Auto war zu teuer, deshalb habe ich es nicht gekauft.",
        "La voiture était trop chère, donc je ne l'ai pas achetée.",
    ),
    (
        "anaphora subordinate_clause",
        Sentence(
            Clause(PAUL, VERBS["draw"], object=CAT),
            link=LINKS["because"],
            second=Clause(refer_to(CAT), BE, predicate=Predicate(A["beautiful"])),
        ),
        "Paul draws the cat because it is beautiful.",
        "Paul zeichnet die Katze, weil sie schön ist.",
        "Paul dessine le chat parce qu'il est beau.",
    ),
    (
        "anaphora coordination dative object_pronoun",
        Sentence(
            Clause(WOMAN, BE, predicate=Predicate(A["sick"])),
            link=LINKS["and"],
            second=Clause(PAUL, HELP, object=refer_to(WOMAN)),
        ),
        "The woman is sick, and Paul helps her.",
        "Die Frau ist krank, und Paul hilft ihr.",
        "La femme est malade et Paul l'aide.",
    ),
    (
        "anaphora coordination dative object_pronoun",
        Sentence(
            Clause(CAKE, BE, predicate=Predicate(A["good"])),
            link=LINKS["but"],
            second=Clause(EMMA, GIVE, object=refer_to(CAKE), recipient=ME, negated=True),
        ),
        "The cake is good, but Emma does not give it to me.",
        "Der Kuchen ist gut, aber Emma gibt ihn mir nicht.",
        "Le gâteau est bon, mais Emma ne me le donne pas.",
    ),
    (
        "anaphora subordinate_clause past",
        Sentence(
            Clause(PAUL, BUY, "past", object=LAMPS),
            link=LINKS["because"],
            second=Clause(refer_to(LAMPS), BE, "past", predicate=Predicate(A["old"], "very")),
        ),
        "Paul bought the lamps because they were very old.",
        "Paul hat die Lampen gekauft, weil sie sehr alt waren.",
        "Paul a acheté les lampes parce qu'elles étaient très vieilles.",
    ),
    (
        "relative_clause past",
        Sentence(
            Clause(ME, READ, object=object_relative(np("letter", "the", True), Clause(YOU, VERBS["write"], "past")))
        ),
        "I read the letters that you wrote.",
        "Ich lese die Briefe, die du geschrieben hast.",
        "Je lis les lettres que tu as écrites.",
    ),
    (
        "relative_clause dative past",
        Sentence(Clause(object_relative(np("man"), Clause(ANNA, HELP)), BUY, "past", object=np("dog", "a"))),
        "The man whom Anna helps bought a dog.",
        "Der Mann, dem Anna hilft, hat einen Hund gekauft.",
        "L'homme qu'Anna aide a acheté un chien.",
    ),
    (
        "relative_clause prepositional_object",
        Sentence(Clause(ME, VERBS["know"], object=object_relative(np("singer"), Clause(HE, VERBS["dream of"])))),
        "I know the singer whom he dreams of.",
        "Ich kenne die Sängerin, von der er träumt.",
        "Je connais la chanteuse dont il rêve.",
    ),
    (
        "relative_clause preposition separable_verb past",
        Sentence(
            Clause(
                WE,
                VERBS["invite"],
                "past",
                object=subject_relative(
                    np("child", "the", True), Clause(ME, VERBS["live"], place=pp("in", np("village", "a")))
                ),
            )
        ),
        "We invited the children who live in a village.",
        "Wir haben die Kinder eingeladen, die in einem Dorf wohnen.",
        "Nous avons invité les enfants qui habitent dans un village.",
    ),
    (
        "infinitive_clause separable_verb past",
        Sentence(Clause(PAUL, VERBS["forget to"], "past", infinitive=Clause(PAUL, CLOSE, object=np("gate")))),
        "Paul forgot to close the gate.",
        "Paul hat vergessen, das Tor zuzumachen.",
        "Paul a oublié de fermer le portail.",
    ),
    (
        "infinitive_clause object_pronoun separable_verb",
        Sentence(Clause(HE, VERBS["begin"], infinitive=Clause(HE, VERBS["understand"], object=ME))),
        "He begins to understand me.",
        "Er fängt an, mich zu verstehen.",
        "Il commence à me comprendre.",
    ),
    (
        "yes_no_question past",
        Sentence(Clause(np("student"), VERBS["translate"], "past", object=np("story")), "yes_no"),
        "Did the student translate the story?",
        "Hat der Student die Geschichte übersetzt?",
        "Est-ce que l'étudiant a traduit l'histoire ?",
    ),
    (
        "yes_no_question separable_verb",
        Sentence(Clause(ANNA, VERBS["arrive"], time=PHRASES["today"]), "yes_no"),
        "Does Anna arrive today?",
        "Kommt Anna heute an?",
        "Est-ce qu'Anna arrive aujourd'hui ?",
    ),
    (
        "wh_question",
        Sentence(Clause(ANNA, BUY, object=WHAT, gap="object"), "object"),
        "What does Anna buy?",
        "Was kauft Anna?",
        "Qu'est-ce qu'Anna achète ?",
    ),
    (
        "wh_question dative",
        Sentence(Clause(np("nurse"), VERBS["thank"], object=WHO, gap="object"), "object"),
        "Who does the nurse thank?",
        "Wem dankt die Krankenschwester?",
        "Qui est-ce que l'infirmière remercie ?",
    ),
    (
        "wh_question past",
        Sentence(Clause(SHE, VERBS["choose"], "past", object=np("jacket", "which", True), gap="object"), "object"),
        "Which jackets did she choose?",
        "Welche Jacken hat sie ausgewählt?",
        "Quelles vestes est-ce qu'elle a choisies ?",
    ),
    (
        "wh_question dative",
        Sentence(Clause(YOU, GIVE, object=np("flower", "the", True), recipient=WHO, gap="recipient"), "recipient"),
        "Who do you give the flowers to?",
        "Wem gibst du die Blumen?",
        "À qui est-ce que tu donnes les fleurs ?",
    ),
    (
        "wh_question past",
        Sentence(Clause(WHO, VERBS["find"], "past", object=np("ring", "my")), "subject"),
        "Who found my ring?",
        "Wer hat meinen Ring gefunden?",
        "Qui a trouvé ma bague ?",
    ),
    (
        "wh_question future",
        Sentence(Clause(ANNA, GO, "future"), "adverb", WHERE_TO),
        "Where will Anna go?",
        "Wohin wird Anna gehen?",
        "Où est-ce qu'Anna ira ?",
    ),
    (
        "wh_question",
        Sentence(Clause(THEY, VERBS["laugh"]), "adverb", WHY),
        "Why do they laugh?",
        "Warum lachen sie?",
        "Pourquoi est-ce qu'ils rient ?",
    ),
]


@pytest.mark.parametrize(
    ("sentence", "by_hand"),
    [pytest.param(row[1], row[2:], id=row[2].rstrip(".?")) for row in GOLDEN],
)
def test_sentence_is_what_a_translator_writes(sentence: Sentence, by_hand: tuple[str, str, str]) -> None:
    assert (english.realise(sentence), german.realise(sentence), french.realise(sentence)) == by_hand


@pytest.mark.parametrize(("phenomena", "sentence"), [pytest.param(row[0], row[1], id=row[2]) for row in GOLDEN])
def test_phenomena_are_named(phenomena: str, sentence: Sentence) -> None:
    assert set(phenomena.split()) <= set(describe(sentence)[0])


def test_every_phenomenon_has_a_sentence_translated_by_hand() -> None:
    assert {name for row in GOLDEN for name in row[0].split()} == set(PHENOMENA)


def test_sentence_without_a_phenomenon_does_not_name_it() -> None:
    assert describe(Sentence(Clause(ANNA, READ, object=np("book"))))[0] == ()
