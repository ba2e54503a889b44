"""The page in a browser: closed to the world, safe with hostile data, and usable by everyone."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.corpus import demo
from regard.explain import explain
from regard.models import AttentionClassifier
from regard.report import report

pytestmark = pytest.mark.xdist_group("browser")


def axe_violations(page):
    package = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed: pip install '.[dev]'")
    page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text())
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [f"{each['id']}: {node['html'][:160]} {node['failureSummary']}" for each in found for node in each["nodes"]]


def test_the_page_asks_nobody_and_its_policy_is_kept(open_page, demo_report):
    opened = open_page(demo_report[1])
    opened.page.locator("#try").scroll_into_view_if_needed()
    opened.page.fill("#text", "not good at all")
    opened.page.wait_for_timeout(100)

    assert opened.problems == []
    assert {url.split(":")[0] for url in opened.requests} <= {"file", "data", "blob"}
    assert [url for url in opened.requests if url.startswith("file:")] == [demo_report[1].as_uri()]


def test_hostile_words_texts_and_labels_are_only_text(open_page, hostile_report):
    clf, path = hostile_report
    opened = open_page(path)
    page = opened.page
    for button in page.locator("#documents .list button").all()[:5]:
        button.click()
    page.fill(
        "#text", "<img src=x onerror=window.pwned=5></textarea><script>window.pwned=6</script> constructor __proto__"
    )
    page.wait_for_timeout(100)

    assert page.evaluate("window.pwned") is None
    assert opened.problems == []
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == "</title><script>window.pwned=4</script>"
    chances = page.evaluate("Object.entries(window.regard.predict('constructor').probabilities).map(([k]) => k)")
    assert sorted(chances) == sorted(map(str, clf.classes_))
    assert page.evaluate("({}).polluted === undefined && Object.prototype.constructor === Object")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["demo_report", "hostile_report"])
def test_axe_finds_nothing(open_page, request, which, scheme):
    page = open_page(request.getfixturevalue(which)[1], color_scheme=scheme).page
    page.locator("#documents .list button").nth(3).click()
    page.locator("#words .table .link").first.click()
    page.wait_for_timeout(150)

    assert axe_violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_pair_of_colours_has_the_contrast_of_aa(open_page, demo_report, scheme):
    """What axe leaves open, such as text over other elements: the colours themselves."""
    page = open_page(demo_report[1], color_scheme=scheme).page
    names = ["ground", "surface", "raised", "ink", "soft", "for-text", "against-text", "for", "against", "loud", "edge"]
    read = "n => getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim()"
    hexes = {name: page.evaluate(read, name) for name in names}
    colours = {name: [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)] for name, value in hexes.items()}
    wash = float(page.evaluate(read, "wash"))

    def light(colour):
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    def contrast(one, other):
        high, low = sorted([light(one), light(other)], reverse=True)
        return (high + 0.05) / (low + 0.05)

    for ground in ("ground", "surface", "raised"):
        for text in ("ink", "soft", "for-text", "against-text"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for mark in ("for", "against", "edge"):
            assert contrast(colours[mark], colours[ground]) >= 3, (mark, ground)
        for shade, strength in (("for", wash), ("against", wash), ("loud", 1.15 * wash)):
            over = [strength * a + (1 - strength) * b for a, b in zip(colours[shade], colours[ground], strict=True)]
            assert contrast(colours["ink"], over) >= 4.5, (shade, ground)


def test_a_very_long_text_is_shown_soon(open_page, demo_report):
    page = open_page(demo_report[1]).page
    page.evaluate("document.getElementById('text').value = 'not good at all, but wonderful! '.repeat(4000)")
    page.evaluate("document.getElementById('text').dispatchEvent(new Event('input'))")
    page.wait_for_timeout(200)

    assert 0 < page.locator("#try .behind .h").count() <= 3000
    assert page.evaluate("window.regard.predict(document.getElementById('text').value).tokens.length") == 28_000


@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
def test_nothing_sticks_out_at_any_width(open_page, demo_report, hostile_report, width):
    for _, path in (demo_report, hostile_report):
        page = open_page(path, viewport={"width": width, "height": 800}).page

        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [360, 1280])
def test_long_labels_are_shortened_and_the_confusion_matrix_stays_in_sight(open_page, tmp_path, width):
    labels = ["same beginning " * 13 + end for end in ("one", "two")] + ["w" * 200]
    texts = [f"a text of kind{i % 3}" for i in range(90)]
    clf = AttentionClassifier(random_state=0).fit(texts, [labels[i % 3] for i in range(90)])
    report(clf, texts, [labels[i % 3] for i in range(90)]).save(tmp_path / "long.html")
    page = open_page(tmp_path / "long.html", viewport={"width": width, "height": 800}).page

    matrix = page.locator(".scroll:has(.confusion)")
    assert matrix.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert [text.strip()[-3:] for text in page.locator(".side h3").all_inner_texts()] == ["one", "two", "www"]
    assert all(len(text) < 60 for text in page.locator(".side h3").all_inner_texts())
    assert len(page.locator("#try .big").inner_text()) < 80
    assert page.locator("#try .big [title]").get_attribute("title") in labels
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_direction_marks_of_labels_are_shown_and_do_nothing(open_page, hostile_report):
    page = open_page(hostile_report[1]).page

    for section in ("#overview", "#map", "#words", "#documents"):
        assert "\u202e" not in page.locator(section).inner_text()
    assert "·<img src=x" in page.locator(".facts").inner_text()


def test_every_control_is_reached_with_the_keyboard(open_page, demo_report):
    page = open_page(demo_report[1]).page
    wanted = page.evaluate(
        """() => [...document.querySelectorAll('a, button, input, select, textarea, canvas')]
           .filter(e => e.checkVisibility() && !e.disabled).length"""
    )
    seen = page.evaluate(
        "() => { window.seen = new Set(); document.addEventListener('focusin', e => seen.add(e.target)); }"
    )
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
    seen = page.evaluate("[...seen].filter(e => e.matches('a, button, input, select, textarea, canvas')).length")

    assert seen >= wanted


def test_the_map_is_searched_filtered_and_moved(open_page, demo_report):
    page = open_page(demo_report[1]).page
    section = page.locator("#map")
    points = section.locator("p[role=status]").inner_text()
    section.get_by_label("Search a word").fill("Good")
    section.locator(".chip").first.click()

    assert section.locator(".card h3").inner_text() == "good"
    assert "not good" in section.locator(".family").inner_text()

    section.get_by_role("button", name="phrases").click()
    assert section.locator("p[role=status]").inner_text() != points
    before = page.evaluate("document.querySelector('#map canvas').toDataURL()")
    section.locator("canvas").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(100)
    assert page.evaluate("document.querySelector('#map canvas').toDataURL()") != before


def test_the_map_finds_and_shows_a_phrase_while_it_draws_words(open_page, demo_report):
    section = open_page(demo_report[1]).page.locator("#map")
    section.get_by_label("Search a word").fill("not good")
    section.get_by_role("button", name="not good", exact=True).click()
    assert section.locator(".card h3").inner_text() == "not good"

    section.get_by_role("button", name="good", exact=True).click()
    assert section.locator(".card h3").inner_text() == "good"
    section.locator(".family button").first.click()
    assert " " in section.locator(".card h3").inner_text()


def test_the_map_says_what_is_under_the_pointer(open_page, demo_report):
    page = open_page(demo_report[1]).page
    canvas = page.locator("#map canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    shown = False
    for i in range(20):
        page.mouse.move(box["x"] + box["width"] * (i + 1) / 21, box["y"] + box["height"] * 0.5)
        shown = shown or page.locator(".tip").is_visible()

    assert shown
    assert "attention" in page.locator(".tip").text_content()


def test_the_table_is_sorted_and_searched(open_page, demo_report):
    clf, path = demo_report
    section = open_page(path).page.locator("#words")
    rows = section.locator(".table tbody tr")
    section.locator(".sort", has_text="polarity").click()

    frame = clf.table_.sort("polarity", descending=True)
    assert rows.first.locator("th").inner_text() in frame.filter(frame["polarity"] == frame["polarity"].max())["word"]
    section.locator(".sort", has_text="polarity").click()
    assert rows.first.locator("th").inner_text() in frame.filter(frame["polarity"] == frame["polarity"].min())["word"]
    section.get_by_label("Search").fill("not GOOD")
    section.page.wait_for_timeout(300)
    assert rows.first.locator("th").inner_text() == "not good"


def test_documents_are_browsed_and_a_mistake_is_looked_up(open_page, demo_report):
    page = open_page(demo_report[1]).page
    section = page.locator("#documents")
    first = section.locator(".document").inner_text()
    section.get_by_role("button", name="Next →", exact=True).click()
    assert section.locator(".document").inner_text() != first

    section.get_by_role("button", name="right", exact=True).click()
    assert section.locator(".wrong").count() == 0
    for mode in ("weight", "polarity", "contribution"):
        section.get_by_role("button", name=mode).click()
        assert section.locator(".document .h").count() > 0

    page.get_by_role("button", name="See why: mistake 2").click()
    assert section.locator(".list [aria-current]").count() == 1
    assert "wrong" in section.locator(".list [aria-current]").inner_text()


def test_typing_predicts_and_the_sliders_change_the_prediction_shown(open_page, demo_report):
    page = open_page(demo_report[1]).page
    page.fill("#text", "The food was wonderful, not bad at all")
    page.wait_for_timeout(100)
    section = page.locator("#try")
    answer = page.evaluate("window.regard.predict(document.getElementById('text').value)")
    assert answer["prediction"] in section.locator(".big").inner_text()
    as_trained = section.locator(".parts").inner_text()

    page.get_by_label("From softmax to hardmax").fill("1")
    assert "hardmax" in section.inner_text()
    assert section.locator(".parts").inner_text() != as_trained
    assert "as trained" in section.locator(".big").inner_text()
    page.get_by_role("button", name="As trained").click()
    page.get_by_label("Scale λ").fill("1")
    assert "λ = 100" in section.inner_text()


@pytest.mark.parametrize("mode", ["contribution", "weight", "polarity"])
def test_a_shade_is_as_strong_as_its_number(open_page, demo_report, mode):
    page = open_page(demo_report[1]).page
    text = "The food was wonderful, not bad at all, but boring"
    page.fill("#text", text)
    page.locator("#try").get_by_role("button", name=mode).click()
    page.wait_for_timeout(100)
    words = page.evaluate("text => regard.explain(text).words", text)
    numbers = [(text[word["start"] : word["end"]], word[mode] or 0) for word in words]
    top = max(abs(value) for _, value in numbers)
    shades = page.locator("#try .behind .h").evaluate_all(
        "all => all.map(e => [e.textContent, Number(e.style.getPropertyValue('--h')), e.className])"
    )

    expected = [(word, abs(value) / top, value) for word, value in numbers if abs(value) / top >= 0.02]
    assert [word for word, _, _ in shades] == [word for word, _, _ in expected]
    assert [shade for _, shade, _ in shades] == pytest.approx([strength for _, strength, _ in expected], abs=6e-4)
    side = {"weight": lambda _: "h loud"}.get(mode, lambda value: "h for" if value > 0 else "h against")
    assert [name for _, _, name in shades] == [side(value) for _, _, value in expected]


def test_the_theme_is_switched(open_page, demo_report):
    page = open_page(demo_report[1], color_scheme="light").page
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark").click()

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_paper_has_the_findings_and_no_controls(open_page, demo_report):
    page = open_page(demo_report[1]).page
    page.emulate_media(media="print")

    assert not page.locator("nav").is_visible()
    assert not page.locator("#map .row").first.is_visible()
    assert page.locator(".figures").is_visible()


def test_paper_has_the_whole_confusion_matrix_of_twenty_classes(open_page, tmp_path):
    labels = [f"group.number.{i % 20}.of.twenty" for i in range(200)]
    texts = [f"word{i % 20} and others" for i in range(200)]
    clf = AttentionClassifier(random_state=0).fit(texts, labels)
    report(clf, texts, labels).save(tmp_path / "twenty.html")
    page = open_page(tmp_path / "twenty.html", viewport={"width": 680, "height": 900}).page  # A4 within its margins
    page.emulate_media(media="print")

    assert page.locator(".scroll:has(.confusion)").evaluate("box => box.scrollWidth <= box.clientWidth")


def test_a_model_alone_has_no_documents_section(open_page, demo_report, tmp_path):
    report(demo_report[0]).save(tmp_path / "alone.html")
    opened = open_page(tmp_path / "alone.html")

    assert opened.problems == []
    assert opened.page.locator("#documents").count() == 0
    assert opened.page.locator("nav a", has_text="Documents").count() == 0
    assert opened.page.locator("#try .parts").count() == 1


def test_a_model_that_reads_neighbours_shows_its_documents_and_does_not_predict(open_page, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: pip install 'regard[torch]'")
    from regard.models import NeuralAttentionClassifier

    corpus = demo(300)
    settings = {"encoder": "conv", "dim": 8, "epochs": 3, "validation_fraction": 0.2, "random_state": 0}
    clf = NeuralAttentionClassifier(**settings).fit(corpus.texts, corpus.labels)
    made = report(clf, corpus.texts, corpus.labels, documents=20)
    made.save(tmp_path / "conv.html")
    opened = open_page(tmp_path / "conv.html")
    page = opened.page

    item = made.documents.items[0]
    shown = page.evaluate("regard.model.told(regard.model.head.sections.documents.items[0])")
    here = explain(clf, item.text)[0]
    assert [word["text"] for word in shown["words"]] == [word.text for word in here.words]
    for there, word in zip(shown["words"], here.words, strict=True):
        assert there["weight"] == pytest.approx(word.weight, abs=1e-6)
        assert there["contribution"] == pytest.approx(word.contribution, abs=1e-5)
    assert page.locator("#documents .document .h").count() > 0
    assert page.locator("#documents .verdict").last.inner_text().split()[:2] == ["predicted", str(item.prediction)]
    with pytest.raises(Exception, match="predict with Python"):
        page.evaluate("window.regard.predict('good')")
    assert page.locator("#try").count() == 0
    assert "Log loss after each epoch" in page.locator("#overview").inner_text()
    assert page.locator("#overview .curves").count() == 3
    assert axe_violations(page) == []
    assert opened.problems == []


def test_the_words_of_a_hardmax_model_move_with_the_layer(open_page, tmp_path):
    from regard.models import HardmaxClassifier

    corpus = demo(300)
    clf = HardmaxClassifier(alpha=1.0, epochs=1).fit(corpus.texts, corpus.labels)
    made = report(clf, corpus.texts, corpus.labels, documents=20)
    made.save(tmp_path / "hardmax.html")
    opened = open_page(tmp_path / "hardmax.html")
    page, words = opened.page, made.leaders.items[0].words

    def places():
        marks = page.locator("#leaders .journey g").evaluate_all("all => all.map((g) => g.getAttribute('transform'))")
        return sorted(marks)

    before = places()
    page.locator("#leaders input[type=range]").fill("8")
    assert len(before) == len(places()) == len(words)
    assert places() != before
    assert page.locator("#leaders .journey .leader").count() == sum(word.leader is not None for word in words)
    assert page.locator("#try").count() == 0
    assert axe_violations(page) == []
    assert opened.problems == []


def test_numbers_as_labels_are_called_classes_and_stay_numbers_in_predict(open_page, tmp_path):
    texts, labels = ["a fine thing", "a poor thing"] * 20, [1, -1] * 20
    clf = AttentionClassifier(validation_fraction=0).fit(texts, labels)
    report(clf, texts, labels).save(tmp_path / "numbers.html")
    page = open_page(tmp_path / "numbers.html").page

    assert page.locator(".side h3").all_inner_texts() == ["for class -1", "for class 1"]
    assert page.locator("#try .big bdi").inner_text() in ("class -1", "class 1")
    answer = page.evaluate("window.regard.predict('fine')")
    assert answer["prediction"] == 1
    assert set(answer["probabilities"]) == {"-1", "1"}


def test_with_many_classes_the_map_is_that_of_the_chosen_one(open_page, hostile_report):
    section = open_page(hostile_report[1]).page.locator("#map")
    choice = section.get_by_label("Class", exact=True)
    status = section.locator("p[role=status]")
    kinds_of_words = section.page.evaluate("Array.from(regard.model.kinds.subarray(0, regard.model.levels[1]))")
    pictures = set()
    for k, name in enumerate(choice.locator("option").all_inner_texts()):
        choice.select_option(str(k))
        kinds = section.locator(".kind").all_inner_texts()
        assert kinds[0].strip() == f"for {name}"
        assert kinds[1].strip() == "for another class"
        all_points = int(status.inner_text().split()[0])
        section.locator(".kind input").first.click()
        assert all_points - int(status.inner_text().split()[0]) == kinds_of_words.count(2 + k)
        section.locator(".kind input").first.click()
        section.page.wait_for_timeout(100)
        pictures.add(section.locator("canvas").evaluate("canvas => canvas.toDataURL()"))
    assert len(pictures) == 3


def test_the_page_lives_in_the_frame_of_a_notebook(open_page, browser, demo_report, tmp_path):
    corpus = demo(40)
    made = report(demo_report[0], corpus.texts, corpus.labels)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>cell</p>{made._repr_html_()}", "utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")

    frame.locator("#try .parts").wait_for()
    frame.locator("nav a", has_text="Words").click()
    frame.locator("#words .table").wait_for()
    assert page.url.endswith("notebook.html")
    assert frame.locator("#words").count() == 1
    page.close()
