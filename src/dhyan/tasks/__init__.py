"""Tasks: what a model turns into what, as records that training, search, server and page read."""

from dhyan.tasks import built_in as built_in
from dhyan.tasks.task import Task as Task
from dhyan.tasks.task import find_task as find_task
from dhyan.tasks.task import register_task as register_task
from dhyan.tasks.task import task_names as task_names
from dhyan.tasks.task import with_task as with_task
