"""Sentences translated by hand, phenomenon by phenomenon, against what the grammar makes of the same meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.grammar import PHENOMENA, english, french, german
from lit_transformer.grammar.abstract_syntax import Clause, NounPhrase, Predicate, PrepositionalPhrase, Sentence
from lit_transformer.grammar.lexicon import ADJECTIVES as A
from lit_transformer.grammar.lexicon import (
    ADVERBIALS,
    BE,
    CONJUNCTIONS,
    MODALS,
    NAMES,
    NOUNS,
    PREPOSITIONS,
    PRONOUNS,
    VERBS,
)
from lit_transformer.grammar.phenomena import describe
from lit_transformer.grammar.random_sentences import refer_to

ME, YOU, HE, SHE, IT, WE, THEY = (PRONOUNS[key] for key in ("i", "you", "he", "she", "it", "we", "they"))
WHO, WHAT = PRONOUNS["who"], PRONOUNS["what"]
ANNA, PAUL, EMMA = (NounPhrase(NAMES[name]) for name in ("Anna", "Paul", "Emma"))
PHRASES = {adverbial.english: adverbial for adverbial in ADVERBIALS.values()}


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

# The meanings, by the English sentence; golden.tsv holds their phenomena and translations.
MEANINGS: dict[str, Sentence] = {
    "Anna buys a new hotel.": Sentence(Clause(ANNA, BUY, object=np("hotel", "a", False, "new"))),
    "The old man wears a black coat.": Sentence(
        Clause(np("man", "the", False, "old"), VERBS["wear"], object=np("coat", "a", False, "black"))
    ),
    "We buy two expensive chairs.": Sentence(Clause(WE, BUY, object=np("chair", "two", True, "expensive"))),
    "Paul sells old books.": Sentence(Clause(PAUL, VERBS["sell"], object=np("book", "bare", True, "old"))),
    "She helps the sick children.": Sentence(Clause(SHE, HELP, object=np("child", "the", True, "sick"))),
    "Anna gave the key to the neighbour.": Sentence(
        Clause(ANNA, GIVE, "past", object=np("key"), recipient=np("neighbour"))
    ),
    "Paul gives me a book.": Sentence(Clause(PAUL, GIVE, object=np("book", "a"), recipient=ME)),
    "Paul explains the word to us.": Sentence(Clause(PAUL, VERBS["explain"], object=np("word"), recipient=WE)),
    "I do not answer him.": Sentence(Clause(ME, VERBS["answer"], object=HE, negated=True)),
    "I saw them.": Sentence(Clause(ME, SEE, "past", object=THEY)),
    "Anna visited him.": Sentence(Clause(ANNA, VERBS["visit"], "past", object=HE)),
    "Anna wants to see him.": Sentence(Clause(ANNA, SEE, object=HE, modal=MODALS["want"])),
    "I cannot open the window.": Sentence(Clause(ME, OPEN, object=np("window"), modal=MODALS["can"], negated=True)),
    "Paul does not want to read the letter.": Sentence(
        Clause(PAUL, READ, object=np("letter"), modal=MODALS["want"], negated=True)
    ),
    "I open the door.": Sentence(Clause(ME, OPEN, object=np("door"))),
    "Emma threw them away.": Sentence(Clause(EMMA, VERBS["throw away"], "past", object=THEY)),
    "Yesterday the woman came back.": Sentence(
        Clause(WOMAN, VERBS["come back"], "past", time=PHRASES["yesterday"], fronted=True)
    ),
    "My sisters went to the station.": Sentence(
        Clause(np("sister", "my", True), GO, "past", place=pp("to", np("station")))
    ),
    "He ran into the house.": Sentence(Clause(HE, VERBS["run"], "past", place=pp("into", np("house")))),
    "He will work at the market tomorrow.": Sentence(
        Clause(HE, VERBS["work"], "future", place=pp("at_auf", np("market")), time=PHRASES["tomorrow"])
    ),
    "Anna puts the key on the table.": Sentence(
        Clause(ANNA, VERBS["put"], object=np("key"), place=pp("onto", np("table")))
    ),
    "The key is on this table.": Sentence(Clause(np("key"), BE, place=pp("on", np("table", "this")))),
    "Soon we will go to Italy.": Sentence(
        Clause(WE, VERBS["go far"], "future", place=PHRASES["to Italy"], time=PHRASES["soon"], fronted=True)
    ),
    "The girl does not wait for my friend.": Sentence(
        Clause(np("girl"), VERBS["wait for"], object=np("friend", "my"), negated=True)
    ),
    "He often thinks of me.": Sentence(Clause(HE, VERBS["think of"], object=ME, frequency=PHRASES["often"])),
    "He talked about the films.": Sentence(Clause(HE, VERBS["talk about"], "past", object=np("film", "the", True))),
    "Paul does not buy a car.": Sentence(Clause(PAUL, BUY, object=np("car", "a"), negated=True)),
    "She never drinks water.": Sentence(
        Clause(SHE, VERBS["drink"], object=np("water", "bare"), frequency=PHRASES["never"])
    ),
    "I did not read the newspaper yesterday.": Sentence(
        Clause(ME, READ, "past", object=np("newspaper"), negated=True, time=PHRASES["yesterday"])
    ),
    "You eat fresh cheese.": Sentence(Clause(YOU, VERBS["eat"], object=np("cheese", "bare", False, "fresh"))),
    "Anna invited her brother.": Sentence(Clause(ANNA, VERBS["invite"], "past", object=np("brother", "her"))),
    "Paul lost his red scarf.": Sentence(Clause(PAUL, VERBS["lose"], "past", object=np("scarf", "his", False, "red"))),
    "Our house is older than the church.": Sentence(
        Clause(np("house", "our"), BE, predicate=Predicate(A["old"], than=np("church")))
    ),
    "Anna does not sleep because she must call the doctor.": Sentence(
        Clause(ANNA, VERBS["sleep"], negated=True),
        conjunction=CONJUNCTIONS["because"],
        second=Clause(SHE, CALL, object=np("doctor"), modal=MODALS["must"]),
    ),
    "Paul says that he closes the door.": Sentence(
        Clause(PAUL, VERBS["say"]), conjunction=CONJUNCTIONS["that"], second=Clause(HE, CLOSE, object=np("door", "the"))
    ),
    "I do not know whether he called Emma.": Sentence(
        Clause(ME, VERBS["know that"], negated=True),
        conjunction=CONJUNCTIONS["whether"],
        second=Clause(HE, CALL, "past", object=EMMA),
    ),
    "If it rains tomorrow, Anna will read a novel.": Sentence(
        Clause(ANNA, READ, "future", object=np("novel", "a")),
        conjunction=CONJUNCTIONS["if"],
        second=Clause(IT, VERBS["rain"], time=PHRASES["tomorrow"]),
        second_first=True,
    ),
    "The car was too expensive, so I did not buy it.": Sentence(
        Clause(CAR, BE, "past", predicate=Predicate(A["expensive"], "too")),
        conjunction=CONJUNCTIONS["so"],
        second=Clause(ME, BUY, "past", object=refer_to(CAR), negated=True),
    ),
    "Paul draws the cat because it is beautiful.": Sentence(
        Clause(PAUL, VERBS["draw"], object=CAT),
        conjunction=CONJUNCTIONS["because"],
        second=Clause(refer_to(CAT), BE, predicate=Predicate(A["beautiful"])),
    ),
    "The woman is sick, and Paul helps her.": Sentence(
        Clause(WOMAN, BE, predicate=Predicate(A["sick"])),
        conjunction=CONJUNCTIONS["and"],
        second=Clause(PAUL, HELP, object=refer_to(WOMAN)),
    ),
    "The cake is good, but Emma does not give it to me.": Sentence(
        Clause(CAKE, BE, predicate=Predicate(A["good"])),
        conjunction=CONJUNCTIONS["but"],
        second=Clause(EMMA, GIVE, object=refer_to(CAKE), recipient=ME, negated=True),
    ),
    "Paul bought the lamps because they were very old.": Sentence(
        Clause(PAUL, BUY, "past", object=LAMPS),
        conjunction=CONJUNCTIONS["because"],
        second=Clause(refer_to(LAMPS), BE, "past", predicate=Predicate(A["old"], "very")),
    ),
    "I read the letters that you wrote.": Sentence(
        Clause(ME, READ, object=object_relative(np("letter", "the", True), Clause(YOU, VERBS["write"], "past")))
    ),
    "The man whom Anna helps bought a dog.": Sentence(
        Clause(object_relative(np("man"), Clause(ANNA, HELP)), BUY, "past", object=np("dog", "a"))
    ),
    "I know the singer whom he dreams of.": Sentence(
        Clause(ME, VERBS["know"], object=object_relative(np("singer"), Clause(HE, VERBS["dream of"])))
    ),
    "We invited the children who live in a village.": Sentence(
        Clause(
            WE,
            VERBS["invite"],
            "past",
            object=subject_relative(
                np("child", "the", True), Clause(ME, VERBS["live"], place=pp("in", np("village", "a")))
            ),
        )
    ),
    "Paul forgot to close the gate.": Sentence(
        Clause(PAUL, VERBS["forget to"], "past", infinitive=Clause(PAUL, CLOSE, object=np("gate")))
    ),
    "He begins to understand me.": Sentence(
        Clause(HE, VERBS["begin"], infinitive=Clause(HE, VERBS["understand"], object=ME))
    ),
    "Did the student translate the story?": Sentence(
        Clause(np("student"), VERBS["translate"], "past", object=np("story")), "yes_no"
    ),
    "Does Anna arrive today?": Sentence(Clause(ANNA, VERBS["arrive"], time=PHRASES["today"]), "yes_no"),
    "What does Anna buy?": Sentence(Clause(ANNA, BUY, object=WHAT, gap="object"), "object"),
    "Who does the nurse thank?": Sentence(Clause(np("nurse"), VERBS["thank"], object=WHO, gap="object"), "object"),
    "Which jackets did she choose?": Sentence(
        Clause(SHE, VERBS["choose"], "past", object=np("jacket", "which", True), gap="object"), "object"
    ),
    "Who do you give the flowers to?": Sentence(
        Clause(YOU, GIVE, object=np("flower", "the", True), recipient=WHO, gap="recipient"), "recipient"
    ),
    "Who found my ring?": Sentence(Clause(WHO, VERBS["find"], "past", object=np("ring", "my")), "subject"),
    "Where will Anna go?": Sentence(Clause(ANNA, GO, "future"), "adverb", ADVERBIALS["wohin"]),
    "Why do they laugh?": Sentence(Clause(THEY, VERBS["laugh"]), "adverb", PHRASES["why"]),
}


def read_golden() -> list[tuple[str, tuple[str, str, str]]]:
    """The phenomena of each sentence, and the sentence in English, German and French."""
    rows = (Path(__file__).parent / "golden.tsv").read_text(encoding="utf-8").splitlines()
    assert rows.pop(0).split("\t") == ["phenomena", "en", "de", "fr"]
    cells = [row.split("\t") for row in rows]
    return [(phenomena, (english_, german_, french_)) for phenomena, english_, german_, french_ in cells]


GOLDEN = read_golden()


@pytest.mark.parametrize("by_hand", [pytest.param(row[1], id=row[1][0].rstrip(".?")) for row in GOLDEN])
def test_sentence_is_what_a_translator_writes(by_hand: tuple[str, str, str]) -> None:
    sentence = MEANINGS[by_hand[0]]
    assert (english.realise(sentence), german.realise(sentence), french.realise(sentence)) == by_hand


@pytest.mark.parametrize(("phenomena", "english_sentence"), [(row[0], row[1][0]) for row in GOLDEN])
def test_phenomena_are_named(phenomena: str, english_sentence: str) -> None:
    assert set(phenomena.split()) <= set(describe(MEANINGS[english_sentence])[0])


def test_every_meaning_is_translated_by_hand() -> None:
    assert [row[1][0] for row in GOLDEN] == list(MEANINGS)


def test_every_phenomenon_has_a_sentence_translated_by_hand() -> None:
    assert {name for row in GOLDEN for name in row[0].split()} == set(PHENOMENA)


def test_sentence_without_a_phenomenon_does_not_name_it() -> None:
    assert describe(Sentence(Clause(ANNA, READ, object=np("book"))))[0] == ()
