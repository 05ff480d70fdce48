"""Where everything is. ctest sets the environment variables; each is required only by what uses it."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Seconds until a wait counts as a failure. Nothing takes that long, and no test waits for a fixed time.
PATIENCE = 30

VARIABLES = {
    'HEADGATE': 'HEADGATE',  # the command
    'BUILD': 'HEADGATE_BUILD',  # the build directory
    'MODULE': 'HEADGATE_MODULE',  # the module of nginx
    'LATE_MODULE': 'HEADGATE_LATE_MODULE',  # the same with nginx/testing/late_store.cc
    'REDIS_MODULE': 'HEADGATE_REDIS_MODULE',  # the module of Redis
    'LIBRARY': 'HEADGATE_LIBRARY',  # libheadgate.so
}


def __getattr__(name):
    variable = VARIABLES.get(name)
    if variable is None:
        raise AttributeError(name)
    if not os.environ.get(variable):
        raise RuntimeError(f'the environment variable {variable} is not set; ctest sets it')
    return os.environ[variable]
