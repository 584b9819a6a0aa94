"""The nouns and names: English, German with gender and plural, French with gender, classes."""

from __future__ import annotations

from lit_transformer.grammar.entries import Noun
from lit_transformer.grammar.inflection import english_third

# English[/plural] | German gender singular/plural[/oblique] | French gender singular[/plural] | pronoun | classes
# single: hardly ever plural; pair: hardly ever singular.
_TABLE = """
man/men | m Mann/Männer | m homme | m | human
boy | m Junge/Jungen/Jungen | m garçon | m | human
father | m Vater/Väter | m père | m | human relation single
brother | m Bruder/Brüder | m frère | m | human relation
uncle | m Onkel/Onkel | m oncle | m | human relation
son | m Sohn/Söhne | m fils/fils | m | human relation
grandfather | m Großvater/Großväter | m grand-père/grands-pères | m | human relation
friend | m Freund/Freunde | m ami | m | human relation
neighbour | m Nachbar/Nachbarn/Nachbarn | m voisin | m | human relation
colleague | m Kollege/Kollegen/Kollegen | m collègue | m | human relation
teacher | m Lehrer/Lehrer | m professeur | m | human relation
doctor | m Arzt/Ärzte | m médecin | m | human relation
lawyer | m Anwalt/Anwälte | m avocat | m | human relation
student | m Student/Studenten/Studenten | m étudiant | m | human
baker | m Bäcker/Bäcker | m boulanger | m | human
gardener | m Gärtner/Gärtner | m jardinier | m | human
cook | m Koch/Köche | m cuisinier | m | human
policeman/policemen | m Polizist/Polizisten/Polizisten | m policier | m | human
tourist | m Tourist/Touristen/Touristen | m touriste | m | human
writer | m Schriftsteller/Schriftsteller | m écrivain | m | human
king | m König/Könige | m roi | m | human
guest | m Gast/Gäste | m invité | m | human
customer | m Kunde/Kunden/Kunden | m client | m | human
woman/women | f Frau/Frauen | f femme | f | human
mother | f Mutter/Mütter | f mère | f | human relation single
sister | f Schwester/Schwestern | f sœur | f | human relation
aunt | f Tante/Tanten | f tante | f | human relation
grandmother | f Großmutter/Großmütter | f grand-mère/grands-mères | f | human relation
nurse | f Krankenschwester/Krankenschwestern | f infirmière | f | human
waitress | f Kellnerin/Kellnerinnen | f serveuse | f | human
singer | f Sängerin/Sängerinnen | f chanteuse | f | human
dancer | f Tänzerin/Tänzerinnen | f danseuse | f | human
actress | f Schauspielerin/Schauspielerinnen | f actrice | f | human
saleswoman/saleswomen | f Verkäuferin/Verkäuferinnen | f vendeuse | f | human
queen | f Königin/Königinnen | f reine | f | human
princess | f Prinzessin/Prinzessinnen | f princesse | f | human
child/children | n Kind/Kinder | m enfant | ? | human relation
girl | n Mädchen/Mädchen | f fille | ? | human
dog | m Hund/Hunde | m chien | n | animal
cat | f Katze/Katzen | m chat | n | animal
horse | n Pferd/Pferde | m cheval/chevaux | n | animal
bird | m Vogel/Vögel | m oiseau/oiseaux | n | animal
cow | f Kuh/Kühe | f vache | n | animal
duck | f Ente/Enten | m canard | n | animal
rabbit | n Kaninchen/Kaninchen | m lapin | n | animal
mouse/mice | f Maus/Mäuse | f souris/souris | n | animal
book | n Buch/Bücher | m livre | n | text readable goods portable
newspaper | f Zeitung/Zeitungen | m journal/journaux | n | readable goods portable
magazine | f Zeitschrift/Zeitschriften | f revue | n | readable goods portable
letter | m Brief/Briefe | f lettre | n | text readable written portable
novel | m Roman/Romane | m roman | n | text readable written goods portable
poem | n Gedicht/Gedichte | m poème | n | text readable written learnable
story | f Geschichte/Geschichten | f histoire | n | text readable written told
article | m Artikel/Artikel | m article | n | text readable written
report | m Bericht/Berichte | m rapport | n | text readable written
message | f Nachricht/Nachrichten | m message | n | readable written
song | n Lied/Lieder | f chanson | n | song learnable
language | f Sprache/Sprachen | f langue | n | learnable abstract
word | n Wort/Wörter | m mot | n | learnable noted abstract
sentence | m Satz/Sätze | f phrase | n | noted abstract
question | f Frage/Fragen | f question | n | noted abstract
answer | f Antwort/Antworten | f réponse | n | noted abstract
problem | n Problem/Probleme | m problème | n | abstract
film | m Film/Filme | m film | n | viewed
apple | m Apfel/Äpfel | f pomme | n | food goods
pear | f Birne/Birnen | f poire | n | food goods
orange | f Orange/Orangen | f orange | n | food goods
tomato | f Tomate/Tomaten | f tomate | n | food goods
potato | f Kartoffel/Kartoffeln | f pomme de terre/pommes de terre | n | food goods
banana | f Banane/Bananen | f banane | n | food goods
carrot | f Karotte/Karotten | f carotte | n | food goods
egg | n Ei/Eier | m œuf | n | food goods
cake | m Kuchen/Kuchen | m gâteau/gâteaux | n | food goods
sausage | f Wurst/Würste | f saucisse | n | food goods
bread | n Brot/- | m pain | n | food mass
cheese | m Käse/- | m fromage | n | food mass
meat | n Fleisch/- | f viande | n | food mass
soup | f Suppe/- | f soupe | n | food mass hot
rice | m Reis/- | m riz | n | food mass
coffee | m Kaffee/- | m café | n | drink mass hot
tea | m Tee/- | m thé | n | drink mass hot
water | n Wasser/- | f eau | n | drink mass
milk | f Milch/- | m lait | n | drink mass hot
beer | n Bier/- | f bière | n | drink mass
wine | m Wein/- | m vin | n | drink mass
juice | m Saft/- | m jus | n | drink mass
door | f Tür/Türen | f porte | n | openable house
window | n Fenster/Fenster | f fenêtre | n | openable house
gate | n Tor/Tore | m portail | n | openable house
box | f Kiste/Kisten | f boîte | n | openable container thing
suitcase | m Koffer/Koffer | f valise | n | openable container thing goods portable
cupboard | m Schrank/Schränke | f armoire | n | openable container furniture tidied
drawer | f Schublade/Schubladen | m tiroir | n | openable container tidied
bag | f Tasche/Taschen | m sac | n | openable container thing goods portable
basket | m Korb/Körbe | m panier | n | container thing goods
parcel | n Paket/Pakete | m paquet | n | openable thing sent
bottle | f Flasche/Flaschen | f bouteille | n | openable thing
coat | m Mantel/Mäntel | m manteau/manteaux | n | clothes goods portable
shirt | n Hemd/Hemden | f chemise | n | clothes goods portable
dress | n Kleid/Kleider | f robe | n | clothes goods portable
skirt | m Rock/Röcke | f jupe | n | clothes goods portable
jacket | f Jacke/Jacken | f veste | n | clothes goods portable
hat | m Hut/Hüte | m chapeau/chapeaux | n | clothes goods portable
scarf/scarves | m Schal/Schals | f écharpe | n | clothes goods portable
glove | m Handschuh/Handschuhe | m gant | n | clothes goods portable pair
shoe | m Schuh/Schuhe | f chaussure | n | clothes goods portable pair
car | n Auto/Autos | f voiture | n | vehicle machine goods washed
bicycle | n Fahrrad/Fahrräder | m vélo | n | vehicle machine goods washed
boat | n Boot/Boote | m bateau/bateaux | n | vehicle machine goods
machine | f Maschine/Maschinen | f machine | n | device machine goods
computer | m Computer/Computer | m ordinateur | n | device machine goods
lamp | f Lampe/Lampen | f lampe | n | device machine goods thing
watch | f Uhr/Uhren | f montre | n | machine goods thing portable
key | m Schlüssel/Schlüssel | f clé | n | thing portable
umbrella | m Regenschirm/Regenschirme | m parapluie | n | thing goods portable
ring | m Ring/Ringe | f bague | n | thing goods portable
knife/knives | n Messer/Messer | m couteau/couteaux | n | thing goods portable
plate | m Teller/Teller | f assiette | n | thing goods dish
cup | f Tasse/Tassen | f tasse | n | thing goods dish
glass | n Glas/Gläser | m verre | n | thing goods dish
mirror | m Spiegel/Spiegel | m miroir | n | thing goods furniture
picture | n Bild/Bilder | m tableau/tableaux | n | thing goods viewed
flower | f Blume/Blumen | f fleur | n | goods plant
tree | m Baum/Bäume | m arbre | n | plant
gift | n Geschenk/Geschenke | m cadeau/cadeaux | n | thing goods sent
guitar | f Gitarre/Gitarren | f guitare | n | thing goods
ball | m Ball/Bälle | m ballon | n | thing goods portable
table | m Tisch/Tische | f table | n | furniture surface goods
chair | m Stuhl/Stühle | f chaise | n | furniture surface goods
bed | n Bett/Betten | m lit | n | furniture surface
sofa | n Sofa/Sofas | m canapé | n | furniture surface goods
shelf/shelves | n Regal/Regale | f étagère | n | furniture surface goods tidied
bench | f Bank/Bänke | m banc | n | surface
house | n Haus/Häuser | f maison | n | building inside goods rented home
church | f Kirche/Kirchen | f église | n | building inside visited
castle | n Schloss/Schlösser | m château/châteaux | n | building inside visited home
museum | n Museum/Museen | m musée | n | building inside visited
hotel | n Hotel/Hotels | m hôtel | n | building inside home
factory | f Fabrik/Fabriken | f usine | n | building inside visited
hospital | n Krankenhaus/Krankenhäuser | m hôpital/hôpitaux | n | building inside visited
library | f Bibliothek/Bibliotheken | f bibliothèque | n | building inside visited
bridge | f Brücke/Brücken | m pont | n | building visited
tower | m Turm/Türme | f tour | n | building visited
village | n Dorf/Dörfer | m village | n | inside visited region home
city | f Stadt/Städte | f ville | n | inside visited region home
garden | m Garten/Gärten | m jardin | n | inside region
park | m Park/Parks | m parc | n | inside region
forest | m Wald/Wälder | f forêt | n | inside region
kitchen | f Küche/Küchen | f cuisine | n | inside room tidied
room | n Zimmer/Zimmer | f chambre | n | inside room tidied rented
office | n Büro/Büros | m bureau/bureaux | n | inside room tidied
cellar | m Keller/Keller | f cave | n | inside room tidied
station | m Bahnhof/Bahnhöfe | f gare | n | at_an
beach | m Strand/Strände | f plage | n | at_an
airport | m Flughafen/Flughäfen | m aéroport | n | at_an
market | m Markt/Märkte | m marché | n | at_auf
school | f Schule/Schulen | f école | n | at_in
"""

_WOMEN = ("Anna", "Maria", "Julia", "Sarah", "Emma", "Laura", "Eva", "Nina")
_MEN = ("Paul", "Martin", "Thomas", "Simon", "David", "Daniel", "Robert", "Oscar")


def _read(line: str) -> Noun:
    english, german, french, natural, classes = (column.strip() for column in line.split("|"))
    singular, _, plural = english.partition("/")
    gender, forms = german.split(" ", 1)
    german_singular, german_plural, *oblique = forms.split("/")
    dative_plural = german_plural + ("" if german_plural[-1] in "ns" else "n")
    french_gender, french_forms = french.split(" ", 1)
    french_singular, _, french_plural = french_forms.partition("/")
    return Noun(
        key=singular,
        english=(singular, plural or english_third(singular)),
        german=(german_singular, oblique[0] if oblique else german_singular, german_plural, dative_plural),
        german_gender="mfn".index(gender),
        french=(french_singular, french_plural or french_singular + "s"),
        french_gender=french_gender,
        natural=natural,
        classes=frozenset(classes.split()),
        mass="mass" in classes.split(),
    )


def _name(name: str, gender: str) -> Noun:
    forms = (name, name)
    classes = frozenset({"human", "name"})
    return Noun(name, forms, forms + forms, "mf".index(gender), forms, gender, gender, classes, name=True)


NOUNS: dict[str, Noun] = {noun.key: noun for noun in map(_read, _TABLE.strip().splitlines())}
"""Every common noun by its English singular."""

NAMES: dict[str, Noun] = {name: _name(name, "f") for name in _WOMEN} | {name: _name(name, "m") for name in _MEN}
"""Every first name; all are spelt alike in the three languages."""
