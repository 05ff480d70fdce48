"""The model of Structured Fields against all cases of httpwg/structured-field-tests and our own."""
import base64
import json
import pathlib
from decimal import Decimal

import pytest

from models import structured_fields as sf

VECTORS = pathlib.Path(__file__).resolve().parents[1] / 'vectors'
HTTPWG = VECTORS / 'structured-field-tests'
TYPES = {
    'token': sf.Token,
    'binary': base64.b32decode,
    'date': sf.Date,
    'displaystring': sf.DisplayStr,
}
WRITERS = {'item': sf.s_item, 'list': sf.s_list, 'dictionary': sf.s_dict}


def bare(value):
    """The model's value of a bare item as the vectors write it."""
    if isinstance(value, dict):
        return TYPES[value['__type']](value['value'])
    if isinstance(value, str):
        return sf.Str(value)
    if isinstance(value, float):
        return Decimal(repr(value))
    return value


def member(value):
    inner, parameters = value
    return (
        [member(item) for item in inner] if isinstance(inner, list) else bare(inner),
        [[key, bare(parameter)] for key, parameter in parameters],
    )


def field(kind, value):
    if kind == 'item':
        return member(value)
    if kind == 'list':
        return [member(each) for each in value]
    return [[key, member(each)] for key, each in value]


def same(a, b):
    """Whether both have the same types and values; == alone has True == 1 and Token('a') == 'a'."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (list, tuple)):
        return (
            isinstance(b, (list, tuple))
            and len(a) == len(b)
            and all(same(x, y) for x, y in zip(a, b))
        )
    if isinstance(a, (int, Decimal)) and isinstance(b, (int, Decimal)):
        return isinstance(a, sf.Date) == isinstance(b, sf.Date) and a == b
    return type(a) is type(b) and a == b


def check(vector):
    kind, must_fail = vector['header_type'], vector.get('must_fail', False)
    write = WRITERS[kind]
    if 'raw' not in vector:
        if must_fail:
            with pytest.raises(sf.SFError):
                write(field(kind, vector['expected']))
        else:
            assert [write(field(kind, vector['expected']))] == vector['canonical']
        return
    if must_fail:
        with pytest.raises(sf.SFError):
            sf.parse(vector['raw'], kind)
        return
    try:
        value = sf.parse(vector['raw'], kind)
    except sf.SFError:
        assert vector.get('can_fail', False)
        return
    assert same(value, field(kind, vector['expected']))
    assert write(value) == ', '.join(vector.get('canonical', vector['raw']))


def cases(file):
    return json.loads(file.read_text(encoding='utf-8'))


def test_all_of_httpwg_is_here():
    assert sum(len(cases(file)) for file in HTTPWG.rglob('*.json')) == 2135


@pytest.mark.parametrize(
    'file',
    [*sorted(HTTPWG.rglob('*.json')), VECTORS / 'fields/structured.json'],
    ids=lambda file: str(file.relative_to(VECTORS)),
)
def test_vectors(file):
    for vector in cases(file):
        try:
            check(vector)
        except (AssertionError, pytest.fail.Exception) as failure:
            raise AssertionError(f'{file.name}: {vector["name"]}: {failure}') from failure
