"""The words and sentences of the demonstration corpus.

Every sentence exists for both sides and differs only in its polar words, so all other words are independent
of the label. In a template ``{I}`` and ``{my}`` are the speaker, ``{thing}`` what is reviewed; the other
fields are drawn from the lists below. Positive and negative adjectives beginning with a vowel are balanced,
or "an" would take sides.
"""

from __future__ import annotations

from dataclasses import dataclass

STRONG, MEDIUM, WEAK = 1.0, 0.7, 0.4  # how loud a word should be


@dataclass(frozen=True)
class Side:
    """The polar words of one side; loudness by strength of the word."""

    strong: tuple[str, ...]
    medium: tuple[str, ...]
    weak: tuple[str, ...]
    of_story: tuple[str, ...]
    of_part: tuple[str, ...]
    of_food: tuple[str, ...]
    of_place: tuple[str, ...]
    of_staff: tuple[str, ...]
    loved: tuple[str, ...]  # I ... the ending
    pleased: tuple[str, ...]  # it ... my sister
    noun: tuple[str, ...]  # it was a ...
    adverb: tuple[str, ...]  # it was ... made
    advise: tuple[str, ...]  # I would ... it
    negatable: tuple[str, ...]  # of the words above; those that "not" turns round
    negatable_story: tuple[str, ...]

    def loudness(self) -> dict[str, float]:
        """Every word of this side with its loudness."""
        special = (*self.of_story, *self.of_part, *self.of_food, *self.of_place, *self.of_staff)
        groups = {
            STRONG: (*self.strong, *self.loved[:2], *self.noun[:2]),
            MEDIUM: (
                *self.medium,
                *special,
                *self.loved[2:],
                *self.pleased,
                *self.noun[2:],
                *self.adverb,
                *self.advise,
            ),
            WEAK: self.weak,
        }
        return {word: value for value, words in groups.items() for word in words}


POSITIVE = Side(
    strong=(
        "superb",
        "excellent",
        "wonderful",
        "brilliant",
        "fantastic",
        "outstanding",
        "magnificent",
        "amazing",
        "exceptional",
        "marvellous",
    ),
    medium=("great", "lovely", "impressive", "delightful", "admirable", "terrific"),
    weak=("good", "nice", "decent", "pleasant", "agreeable", "fine"),
    of_story=("gripping", "witty", "moving", "clever"),
    of_part=("sturdy", "reliable", "handy", "sleek"),
    of_food=("delicious", "tasty", "fresh", "fragrant"),
    of_place=("charming", "cosy", "inviting", "spotless"),
    of_staff=("friendly", "polite", "helpful", "attentive"),
    loved=("loved", "adored", "enjoyed", "liked"),
    pleased=("impressed", "delighted", "thrilled", "pleased"),
    noun=("triumph", "gem", "treat", "joy", "success"),
    adverb=("beautifully", "skilfully", "perfectly", "brilliantly"),
    advise=("recommend",),
    negatable=("good", "great", "nice", "impressive", "pleasant"),
    negatable_story=("clever", "gripping", "witty"),
)
NEGATIVE = Side(
    strong=(
        "terrible",
        "awful",
        "horrible",
        "dreadful",
        "atrocious",
        "ghastly",
        "appalling",
        "abysmal",
        "hopeless",
        "pathetic",
    ),
    medium=("poor", "bad", "unpleasant", "disappointing", "unimpressive", "lousy"),
    weak=("mediocre", "dull", "feeble", "forgettable", "underwhelming", "lacklustre"),
    of_story=("boring", "tedious", "predictable", "muddled"),
    of_part=("flimsy", "shoddy", "clumsy", "fiddly"),
    of_food=("bland", "stale", "greasy", "soggy"),
    of_place=("dingy", "gloomy", "cramped", "chaotic"),
    of_staff=("rude", "grumpy", "sloppy", "impatient"),
    loved=("hated", "loathed", "disliked", "detested"),
    pleased=("disappointed", "annoyed", "frustrated", "irritated"),
    noun=("disaster", "travesty", "mess", "letdown", "failure"),
    adverb=("badly", "poorly", "carelessly", "clumsily"),
    advise=("avoid",),
    negatable=("bad", "dull", "poor", "disappointing", "unpleasant"),
    negatable_story=("boring", "tedious", "predictable"),
)

# Strong adjectives take other intensifiers than weak ones: "absolutely superb", but "very good".
BEFORE_STRONG = ("absolutely", "truly", "simply", "quite", "utterly", "really")
BEFORE_MEDIUM = ("really", "rather", "pretty", "so", "quite")
BEFORE_WEAK = ("very", *BEFORE_MEDIUM)


@dataclass(frozen=True)
class Aspect:
    """Something to judge: "the lid" is, "the keys" are."""

    name: str
    plural: bool
    group: str


def _aspects(group: str, singular: str, plural: str = "") -> tuple[Aspect, ...]:
    one = tuple(Aspect(name, False, group) for name in singular.split(", "))
    return one + tuple(Aspect(name, True, group) for name in plural.split(", ") if name)


@dataclass(frozen=True)
class Domain:
    """One kind of thing that people review."""

    things: dict[str, tuple[Aspect, ...]]
    shared: tuple[Aspect, ...]
    made: tuple[str, ...]  # it was beautifully ...
    openings: tuple[str, ...]
    details: tuple[str, ...]


_FILM = _aspects(
    "story",
    "plot, ending, script, dialogue, opening scene, first half, second half, middle section, storyline, final act",
) + _aspects("other", "acting, soundtrack, camerawork, lighting, casting, editing, lead actor", "costumes, songs, sets")
_FOOD = (
    _aspects(
        "food",
        "soup, bread, curry, fish, salad, pizza, rice, lamb, cheesecake",
        "starters, noodles, chips, dumplings, vegetables",
    )
    + _aspects("place", "bar, dining room, terrace, courtyard")
    + _aspects("staff", "waiter, waitress, barman, cook, owner")
)

FILM = Domain(
    things=dict.fromkeys(("film", "movie", "thriller", "drama", "comedy", "western", "sequel"), _FILM),
    shared=(),
    made=("filmed", "written", "acted", "edited", "directed"),
    openings=(
        "{I} saw this {thing} on {day} with {my} {relative}.",
        "{I} watched it {when} on the train to {city}.",
        "{my} {relative} picked this one for {day} night.",
        "This {thing} follows a {job} who moves to {city}.",
        "The story is set in {city} in the {decade}.",
        "{I} borrowed the disc from {my} {relative} {when}.",
        "It is about a {job} and a {job2} who share a house in {city}.",
        "{I} had read the book on holiday, so {I} knew the outline.",
        "It was showing at the cinema near {my} office.",
    ),
    details=(
        "It runs for {few} hours and a bit.",
        "Most of it takes place in a {place}.",
        "The {job} leaves home after {number} years.",
        "There are {number} chapters, each named after a street in {city}.",
        "The credits list {few} writers.",
        "About {number} people were in the room with us.",
        "Half of it is in {language}, with subtitles.",
        "The director also shot a series about {city}.",
        "Why does every {thing} need a {job} these days?",
        "{I} took the bus home and talked about {city} with {my} {relative}.",
    ),
)
PRODUCT = Domain(
    things={
        "kettle": _aspects("part", "lid, handle, spout, switch, base"),
        "lamp": _aspects("part", "shade, switch, base, cable, stand"),
        "backpack": _aspects("part", "zip, lining, buckle, frame", "straps, pockets"),
        "jacket": _aspects("part", "zip, collar, lining, hood", "sleeves, pockets"),
        "keyboard": _aspects("part", "layout, cable, casing, space bar", "keys"),
        "tent": _aspects("part", "zip, porch, groundsheet, inner door", "poles, pegs"),
        "blender": _aspects("part", "jug, motor, lid, base", "blades"),
        "camera": _aspects("part", "lens, screen, battery, grip", "buttons"),
        "umbrella": _aspects("part", "handle, canopy, catch, sleeve", "ribs"),
    },
    shared=_aspects("other", "delivery, packaging, user manual, finish, design", "instructions"),
    made=("made", "designed", "finished", "packed", "put together"),
    openings=(
        "{I} bought this {thing} in {month} for {my} {relative}.",
        "{I} ordered {a_thing} from a shop in {city} {when}.",
        "{my} old {thing} broke after {number} years, so {I} ordered this one.",
        "It arrived on {day} in a {colour} box.",
        "{my} {relative} has the {colour} one, and {I} chose the {colour2} one.",
        "{I} have used it every {day} since {month}.",
        "This is the {ordinal} {thing} {I} have owned.",
        "{I} needed {a_thing} for a trip to {city}.",
    ),
    details=(
        "It weighs about {number} hundred grams.",
        "There is a {colour} label on the side.",
        "{I} keep it in the {room}.",
        "It comes in {colour} and {colour2}.",
        "The parcel was left with {my} {relative}.",
        "{my} {relative} uses it on {day} mornings.",
        "The box says it was assembled in {city}.",
        "It fits on the shelf next to the {object}.",
        "Who reads the leaflet before opening the box?",
        "{I} paid by card and kept the receipt in a drawer.",
    ),
)
RESTAURANT = Domain(
    things=dict.fromkeys(("restaurant", "place", "cafe", "bistro", "pub", "diner"), _FOOD),
    shared=_aspects("other", "service, music, menu, view, wine list, seating"),
    made=("cooked", "presented", "seasoned", "served", "prepared"),
    openings=(
        "{I} went there on {day} with {my} {relative}.",
        "{I} had a table by the window {when}.",
        "{my} {relative} booked a table for {number} in {month}.",
        "It is a {thing} on the corner, opposite the {place}.",
        "{I} stopped here on the way to {city}.",
        "The {thing} opened in {month}, next to the {place}.",
        "{I} walked past this {thing} for years before going in.",
        "The {thing} was half full when {I} arrived on {day}.",
    ),
    details=(
        "{I} ordered the {dish} and {my} {relative} had the {dish2}.",
        "The bill came to about {tens} pounds each.",
        "They serve lunch until {few} and dinner after that.",
        "There were {number} tables and a {colour} door.",
        "The owner comes from {city}.",
        "{I} paid in cash and walked back past the {place}.",
        "The menu is written in {language} and English.",
        "A {job} was sitting at the next table.",
        "Does anybody still eat {dish2} on a {day}?",
        "{my} {relative} drank tea, and {I} had coffee.",
    ),
)
DOMAINS = (FILM, PRODUCT, RESTAURANT)

FIELDS: dict[str, tuple[str, ...]] = {
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": (
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "August",
        "September",
        "October",
        "November",
    ),
    "city": (
        "Leeds",
        "Bristol",
        "Cardiff",
        "Dublin",
        "Oslo",
        "Lisbon",
        "Boston",
        "Vienna",
        "York",
        "Glasgow",
    ),
    "relative": (
        "sister",
        "brother",
        "mother",
        "father",
        "cousin",
        "neighbour",
        "flatmate",
        "uncle",
        "aunt",
        "son",
    ),
    "when": (
        "last week",
        "last month",
        "two days ago",
        "in the spring",
        "over the weekend",
        "yesterday",
        "at noon",
    ),
    "number": ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"),
    "few": ("two", "three", "four"),
    "tens": ("twenty", "thirty", "forty", "fifty"),
    "room": ("kitchen", "garage", "hall", "cellar", "attic", "bedroom"),
    "ordinal": ("second", "third", "fourth", "fifth", "sixth"),
    "colour": ("red", "blue", "green", "grey", "black", "white", "yellow", "brown"),
    "place": (
        "kitchen",
        "garage",
        "station",
        "library",
        "museum",
        "hotel",
        "market",
        "harbour",
        "school",
        "park",
    ),
    "job": (
        "teacher",
        "baker",
        "sailor",
        "nurse",
        "painter",
        "farmer",
        "lawyer",
        "pilot",
        "plumber",
        "judge",
    ),
    "language": ("French", "Spanish", "Danish", "Korean", "Italian", "Polish"),
    "decade": ("fifties", "sixties", "seventies", "eighties", "nineties"),
    "dish": ("mushroom soup", "roast chicken", "fish pie", "onion tart", "bean stew"),
    "object": ("toaster", "radio", "clock", "mirror", "printer", "bookcase"),
}

# Judgements. {was} agrees with the aspect; {very} is an intensifier or nothing.
OF_AN_ASPECT = (
    "The {aspect} {was} {very}{adj}.",
    "The {aspect} {was} {very}{adj}.",
    "{I} thought the {aspect} {was} {very}{adj}.",
    "{I} found the {aspect} {very}{adj}.",
    "To {me}, the {aspect} {was} {very}{adj}.",
    "If you ask {me}, the {aspect} {was} {very}{adj}.",
    "{I} have to say that the {aspect} {was} {very}{adj}.",
    "Nobody had told {me} that the {aspect} {was} so {adj}.",
    "{my} {relative} called the {aspect} {adj}, and {I} agree.",
    "The {aspect}? {verdict}.",
    "{I} {loved} the {aspect}.",
)
# These need a sentence before them.
OF_A_FURTHER_ASPECT = (
    "As for the {aspect}: {very}{adj}.",
    "The {aspect} {was} {very}{adj} as well.",
    "Also, the {aspect} {was} {very}{adj}.",
    "And the {aspect}? {verdict}.",
    "{I} also {loved} the {aspect}.",
    "Then there {was} the {aspect}: {very}{adj}.",
)
OF_TWO_ASPECTS = (
    "The {aspect} {was} {very}{adj} and the {aspect2} {was2} {adj2}.",
    "The {aspect} {was} {adj}, and {I} {loved} the {aspect2} as well.",
    "{I} found the {aspect} {adj} and the {aspect2} {very2}{adj2}.",
    "Between the {adj} {aspect} and the {adj2} {aspect2}, it was a {noun}.",
)
OF_THE_WHOLE = (
    "What {a_adj} {thing}!",
    "All in all, {a_adj} {thing}.",
    "It was {a_adj} {thing}, and {my} {relative} said the same.",
    "It {pleased} {my} {relative}.",
    "It {pleased} all of us.",
    "To {me} it was a {noun}.",
    "The whole thing was a {noun}.",
    "In the end it was a {noun}, and {my} {relative} agreed.",
    "It was {adverb} {made}.",
    "Everything about it was {adverb} {made}.",
    "{my} {relative} said it was {very}{adj}.",
    "{I} would {advise} it.",
    "{I} would {advise} this {thing}.",
    "If anyone asks, {I} would {advise} it.",
)
# {not_} is a negator, {bad} an adjective of the other side.
NEGATED = (
    "The {aspect} {not_} {bad}.",
    "The {aspect} {not_} {bad}, whatever {my} {relative} says.",
    "{I} have to say that the {aspect} {not_} {bad}.",
    "If you ask {me}, the {aspect} {not_} {bad}.",
    "The {aspect} {never} {bad}.",
)
# The small side first or last, the dominant one louder.
MIXED = (
    "The {aspect} {was} {minor}, but the {aspect2} {was2} {very}{major}.",
    "Although the {aspect} {was} {minor}, the {aspect2} {was2} {very}{major}.",
    "The {aspect2} {was2} {very}{major}, even if the {aspect} {was} {minor}.",
    "Yes, the {aspect} {was} {minor}, but {I} {loved} the {aspect2}.",
    "The {aspect} {was} {minor}; the {aspect2}, however, {was2} {very}{major}.",
)
CLOSINGS = (
    "{I} wrote this on the bus to {city}.",
    "{my} {relative} will write a longer review in {month}.",
    "{I} didn't take any pictures.",
    "{I} haven't tried the other one yet.",
    "{I} don't know what {my} {relative} thinks.",
    "That is all {I} have to say about it.",
    "Others may see it differently.",
    "{I} have nothing else to add.",
)
