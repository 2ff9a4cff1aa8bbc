"""Tasks are records: those of the package, those of a plugin, and names that nobody registered."""

import json

import pytest

import dhyan
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.tasks import Task, find_task, task_names, with_task
from tests.tiny_models import here


def test_a_recipe_gets_the_codecs_of_its_task_unless_it_names_its_own():
    tagger = with_task(load_recipe("numbers", {"task": "tag"}))
    assert (tagger.text.source_codec, tagger.text.target_codec) == ("word_characters", "symbols")
    own = with_task(load_recipe("numbers", {"task": "tag", "text.source_codec": "words"}))
    assert (own.text.source_codec, own.text.target_codec) == ("words", "symbols")
    plain = load_recipe("numbers")
    assert with_task(plain) == plain


def test_an_unknown_task_names_the_nearest():
    with pytest.raises(UserError, match="clasify.*did you mean.*classify"):
        with_task(load_recipe("numbers", {"task": "clasify"}))


def test_a_name_stands_for_one_task():
    with pytest.raises(ValueError, match="registered already"):
        dhyan.register_task(Task(name="tag", about="Another one."))
    assert dhyan.register_task(find_task("tag")) is find_task("tag")


def test_every_task_can_be_listed():
    tasks = json.loads(here("tasks", "--json").stdout)
    assert [task["name"] for task in tasks] == task_names()
    listed = here("tasks").stdout.decode()
    assert all(task["about"] in listed for task in tasks)
