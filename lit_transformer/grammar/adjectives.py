"""The adjectives: comparison, German stems, French forms and position, and the nouns that they go with."""

from __future__ import annotations

from lit_transformer.grammar.entries import Adjective

# English[/comparative] | German[/comparative[/stem]] | French masculine[/feminine[/before vowel]] | flags | classes
# Flags: + stands before the noun in French; v can be very, t can be too.
_TABLE = """
old/older | alt/älter | vieux/vieille/vieil | +vt | human animal building readable clothes machine thing furniture room
new/newer | neu/neuer | nouveau/nouvelle/nouvel | +v | readable clothes machine furniture building thing song viewed
beautiful/more beautiful | schön/schöner | beau/belle/bel | +v | animal building clothes thing plant region song vehicle
big/bigger | groß/größer | grand | +vt | animal building furniture house region room vehicle thing openable
small/smaller | klein/kleiner | petit | +vt | animal building furniture house region room vehicle thing openable
good | gut | bon/bonne | +v | text food drink song viewed abstract
young/younger | jung/jünger | jeune | +vt | human animal
long/longer | lang/länger | long/longue | +vt | text written song viewed noted
red | rot | rouge | - | clothes vehicle thing furniture house plant
blue | blau | bleu | - | clothes vehicle thing furniture house
green | grün | vert | - | clothes vehicle thing furniture house
black | schwarz | noir | - | clothes vehicle animal furniture
white | weiß | blanc/blanche | - | clothes vehicle animal furniture house plant building
yellow | gelb | jaune | - | clothes vehicle furniture plant
expensive/more expensive | teuer/teurer/teur | cher/chère | vt | clothes vehicle device machine furniture thing drink
heavy/heavier | schwer/schwerer | lourd | vt | thing device furniture
modern/more modern | modern/moderner | moderne | v | building device room furniture viewed
interesting/more interesting | interessant/interessanter | intéressant | v | text readable viewed abstract visited
boring/more boring | langweilig/langweiliger | ennuyeux/ennuyeuse | vt | text readable viewed
difficult/more difficult | schwierig/schwieriger | difficile | vt | text abstract learnable
important/more important | wichtig/wichtiger | important | v | written abstract
funny/funnier | lustig/lustiger | drôle | v | text song viewed human
fresh/fresher | frisch/frischer | frais/fraîche | v | food
cold/colder | kalt/kälter | froid | vt | drink hot room
hot/hotter | heiß/heißer | chaud | vt | hot
delicious | lecker | délicieux/délicieuse | - | food drink
empty | leer | vide | - | container building room dish
dirty/dirtier | schmutzig/schmutziger | sale | vt | clothes dish vehicle room washed
broken | kaputt | cassé | - | dish device machine house
dark/darker | dunkel/dunkler/dunkl | sombre | vt | room region
quiet/quieter | ruhig/ruhiger | calme | vt | region room animal
famous/more famous | berühmt/berühmter | célèbre | v | human visited
clever/cleverer | klug/klüger | intelligent | v | human animal
friendly/friendlier | freundlich/freundlicher | aimable | v | human
rich/richer | reich/reicher | riche | v | human
tired/more tired | müde/müder/müd | fatigué | vt | human animal
sick | krank | malade | v | human animal
happy/happier | glücklich/glücklicher | heureux/heureuse | v | human
sad/sadder | traurig/trauriger | triste | v | human song
angry | wütend | furieux/furieuse | - | human
lazy/lazier | faul/fauler | paresseux/paresseuse | vt | human animal
brave/braver | mutig/mutiger | courageux/courageuse | v | human
curious/more curious | neugierig/neugieriger | curieux/curieuse | vt | human animal
polite/more polite | höflich/höflicher | poli | v | human
shy/shyer | schüchtern/schüchterner | timide | vt | human animal
strict/stricter | streng/strenger | sévère | vt | human
strong/stronger | stark/stärker | fort | v | human animal
"""


def _french(forms: str) -> tuple[str, str, str, str, str]:
    masculine, *rest = forms.split("/")
    feminine = rest[0] if rest else masculine + ("" if masculine.endswith("e") else "e")
    plural = masculine + ("" if masculine[-1] in "sx" else "x" if masculine.endswith("eau") else "s")
    return masculine, feminine, plural, feminine + "s", rest[1] if len(rest) > 1 else masculine


def _read(line: str) -> Adjective:
    english, german, french, flags, classes = (column.strip() for column in line.split("|"))
    positive, _, comparative = english.partition("/")
    base, *more = german.split("/")
    return Adjective(
        key=positive,
        english=(positive, comparative),
        german=(base, more[0] if more else "", more[1] if len(more) > 1 else base),
        french=_french(french),
        before="+" in flags,
        classes=frozenset(classes.split()),
        degrees=("", *(word for word in ("very", "too") if word[0] in flags)),
    )


ADJECTIVES: dict[str, Adjective] = {entry.key: entry for entry in map(_read, _TABLE.strip().splitlines())}
"""Every adjective by its English form."""
