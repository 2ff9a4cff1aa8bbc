"""Recipe.check names every setting that is out of bounds, without effect, or contradicted."""

from dataclasses import fields, is_dataclass, replace
from math import inf

import pytest

from dhyan.config import Recipe, RecipeError, load_recipe, parse_recipe
from dhyan.config.declare_settings import section_types, settings_of
from dhyan.config.toml import KEYS
from dhyan.errors import UserError

SECTIONS = {(path, section.__name__): section for path, section in section_types(Recipe)}
NUMBERS = [
    pytest.param(path, name, key, id=f"{path}.{name}.{key}")
    for (path, name), section in SECTIONS.items()
    for key, setting in settings_of(section).items()
    if setting.item_type in (int, float)
]


def recipe_with(path, section_name, name, value):
    """A recipe whose only deviation from the defaults is one setting of one section."""
    table = {"encoder": {"kind": "rnn"}, "decoder": {"kind": "luong"}}
    section = SECTIONS[path, section_name]
    inner = table
    for part in path.split("."):
        inner = inner.setdefault(part, {})
    if "kind" in settings_of(section):
        inner["kind"] = section.kind
    inner[name] = value
    return parse_recipe(table, place="mine")


def test_every_setting_of_a_recipe_is_declared_with_a_help_line():
    for path, section in section_types(Recipe):
        for f in fields(section):
            members = getattr(f.type, "__args__", (f.type,))
            if any(map(is_dataclass, members)) and "setting" not in f.metadata:
                continue
            help_line = settings_of(section)[f.name].help_line()
            assert help_line.endswith("."), f"{path}.{f.name}"
            assert help_line[0].isupper(), f"{path}.{f.name}"


@pytest.mark.parametrize(("path", "section", "name"), NUMBERS)
def test_each_bound_on_a_number_is_met_and_passed(path, section, name):
    setting = settings_of(SECTIONS[path, section])[name]
    assert setting.low is not None
    number = setting.item_type

    def problem(value):
        values = [value] * max(setting.lengths, default=1) if setting.is_list else value
        try:
            recipe_with(path, section, name, values)
        except RecipeError as error:
            return str(error)
        return ""

    step = 1 if number is int else 1e-9
    below = problem(number(setting.low - step))
    assert "too small" in below or "not between" in below
    assert f"{path}.{name}" in below
    assert "too small" not in problem(number(setting.low))
    assert "not between" not in problem(number(setting.low))
    high = 2**63 - 1 if setting.high is None else setting.high
    if number is int:
        assert "too large" in problem(int(high) + 1)
        assert "too large" not in problem(int(high))
    elif setting.high not in (None, inf):
        assert "not between" in problem(float(high) * (1 + 1e-7))
        assert "not between" not in problem(float(high))
        assert "not between" in problem(float("nan"))


def test_every_dependency_names_a_setting_and_its_choices():
    for path, section in section_types(Recipe):
        known = settings_of(section)
        for name, setting in known.items():
            if setting.only_with:
                assert setting.depends_on in known, f"{path}.{name}"
                assert set(setting.allowed_with) <= set(known[setting.depends_on].choices)


def test_all_problems_are_named_at_once():
    settings = {"training.steps": 0, "encoder.dropout": 2.0, "data.pairs": -1}
    with pytest.raises(RecipeError) as caught:
        load_recipe("numbers", settings)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "numbers.data.pairs",
        "numbers.encoder.dropout",
        "numbers.training.steps",
    ]
    assert "\n" not in str(caught.value)
    settings = {"decoder.copy_mechanism": True, "training.halve_from": 5, "text.bpe_dropout": 0.1}
    with pytest.raises(RecipeError) as caught:
        load_recipe("numbers", settings)
    assert len(caught.value.problems) == 3


def test_a_recipe_made_in_python_is_checked_too():
    recipe = load_recipe("numbers")
    recipe.check()
    wrong = replace(recipe, training=replace(recipe.training, steps=0))
    with pytest.raises(RecipeError, match=r"^training.steps: 0 is too small; give at least 1$"):
        wrong.check()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("numbers", {"decoder.copy_mechanism": True}, r"set text\.shared_vocabulary = true"),
        ("numbers", {"decoder.share_source_embedding": True}, r"text\.shared_vocabulary = true"),
        ("numbers", {"decoder.attention.kv_heads": 2}, "raise heads"),
        (
            "numbers",
            {"decoder.attention.score": "bottleneck", "decoder.attention.heads": 2},
            r"attention\.heads: the bottleneck attends to one state",
        ),
        (
            "numbers",
            {"decoder.attention.score": "bottleneck", "decoder.attention.window": "monotonic"},
            r"attention\.window: the bottleneck attends to one state",
        ),
        ("numbers", {"decoder.attention.score": "concat"}, "call it attention.score = 'additive'"),
        (
            "numbers",
            {"encoder.freeze_embedding": True},
            "encoder.freeze_embedding: True has no effect without pretrained_embedding",
        ),
        (
            "numbers",
            {"encoder.input": "one_hot", "encoder.pretrained_embedding": "x"},
            "pretrained_embedding: 'x' has no effect with input = 'one_hot'",
        ),
        (
            "numbers",
            {"decoder.input": "one_hot", "decoder.tie_embeddings": True},
            "no embedding to tie",
        ),
        (
            "numbers",
            {
                "decoder.pretrained_embedding": "x",
                "decoder.freeze_embedding": True,
                "decoder.tie_embeddings": True,
            },
            "cannot be tied",
        ),
        (
            "numbers",
            {
                "text.shared_vocabulary": True,
                "decoder.share_source_embedding": True,
                "decoder.embedding_width": 32,
            },
            "needs equal widths",
        ),
        (
            "numbers",
            {
                "text.shared_vocabulary": True,
                "decoder.share_source_embedding": True,
                "encoder.input": "one_hot",
            },
            "one-hot input has no embedding to share",
        ),
        (
            "numbers",
            {
                "encoder.input": "one_hot",
                "training.init_from": "x",
                "training.init_vocabulary": "new",
            },
            "training.init_vocabulary: one-hot input has no rows to carry over",
        ),
        (
            "numbers",
            {"training.init_vocabulary": "new"},
            "training.init_vocabulary: 'new' has no effect without init_from",
        ),
        ("transformer2017-small", {"encoder.heads": 3}, "does not divide into 3 heads"),
        ("transformer2017-small", {"encoder.kv_heads": 3}, "cannot share 3"),
        ("transformer2017-small", {"decoder.score": "bottleneck"}, "the bottleneck is not a score"),
        (
            "transformer2017-small",
            {"encoder.positions": "rotary", "encoder.score": "additive"},
            "rotary positions go with the scores dot and scaled_dot",
        ),
        (
            "transformer2017-small",
            {"encoder.self_attention": "none", "encoder.score": "general"},
            "encoder.score: 'general' has no effect with self_attention = 'none'",
        ),
        (
            "transformer2017-small",
            {"encoder.self_attention": "parameter_free", "encoder.attention_dropout": 0.1},
            "encoder.attention_dropout: 0.1 has no effect",
        ),
        (
            "transformer2017-small",
            {"encoder.self_attention": "parameter_free", "encoder.positions": "rotary"},
            "rotary positions are part of a learned self-attention",
        ),
        ("luong2015-small", {"decoder.attention.score": "dot", "decoder.width": 40}, "'general'"),
        (
            "bahdanau2015-small",
            {"training.schedule": "cosine", "training.steps": 10, "training.warmup_steps": 10},
            "warmup_steps: 10 steps leave nothing",
        ),
        (
            "numbers",
            {"training.teacher_forcing_schedule": "exponential", "training.teacher_forcing_k": 1.5},
            r"teacher_forcing_k: 1.5 \*\* step never falls",
        ),
        (
            "numbers",
            {"training.teacher_forcing_schedule": "exponential"},
            r"teacher_forcing_k: 1 \*\* step never falls",
        ),
        (
            "numbers",
            {"training.teacher_forcing_schedule": "linear"},
            "teacher_forcing_slope: with 0 the probability never falls",
        ),
        (
            "numbers",
            {
                "training.teacher_forcing_schedule": "inverse_sigmoid",
                "training.teacher_forcing_k": 0.5,
            },
            "teacher_forcing_k: 0.5 is too small",
        ),
        (
            "bahdanau2015-small",
            {"text.bpe_dropout": 0.1},
            "text.bpe_dropout: 0.1 has no effect with tokenizer = 'unigram', it is for 'bpe'",
        ),
        ("bahdanau2015-small", {"data.max_length_ratio": 0.5}, "max_length_ratio: 0.5 allows no"),
        (
            "bahdanau2015-small",
            {"data.min_words": 5, "data.max_words": 4},
            "data.max_words: 4 is below data.min_words = 5",
        ),
        ("numbers", {"data.max_words": 4}, "data.max_words: data.synthetic = 'numbers'"),
        (
            "numbers",
            {"data.valid_source": "a.tsv"},
            "data.valid_source: data.synthetic = 'numbers'",
        ),
        ("bahdanau2015-small", {"data.target": "a.hi"}, "'a.hi' has no source side; .*--source"),
        (
            "numbers",
            {"decoding.min_length": 5, "decoding.max_length": 5},
            "decoding: min_length 5 leaves no room",
        ),
    ],
)
def test_a_contradiction_is_named_with_its_keys(name, settings, message):
    with pytest.raises(UserError, match=message) as caught:
        load_recipe(name, settings)
    assert isinstance(caught.value, RecipeError)


def test_the_bounds_on_words_are_for_the_primer_too():
    assert load_recipe("primer", {"data.min_words": 3}).data.min_words == 3


def test_a_temperature_may_wait_in_a_recipe_for_someone_who_samples():
    assert load_recipe("numbers", {"decoding.temperature": 0.5}).decoding.temperature == 0.5


def test_every_dotted_key_is_known():
    assert "decoder.attention.window_radius" in KEYS
    assert "decoding.beam" in KEYS
    assert len(KEYS) == len(set(KEYS))
