"""Structured Fields, parsed and serialised as sections 4.1 and 4.2 of RFC 9651 describe it.

Values are int, Decimal, Str, Token, bytes, bool, Date and DisplayStr. An item is (value, parameters), where
parameters is a list of [key, value]; an inner list is (list, parameters).
"""
import base64
import binascii
from decimal import ROUND_HALF_EVEN, Decimal


class SFError(ValueError):
    pass


class Str(str):
    pass


class Token(str):
    pass


class DisplayStr(str):
    pass


class Date(int):
    pass


DIG = '0123456789'
LC = 'abcdefghijklmnopqrstuvwxyz'
AL = LC + LC.upper()
TCHAR = set(AL + DIG + "!#$%&'*+-.^_`|~")


class P:
    def __init__(s, text):
        s.s = text
        s.i = 0

    def eof(s):
        return s.i >= len(s.s)

    def peek(s):
        return s.s[s.i] if s.i < len(s.s) else ''

    def take(s):
        if s.eof():
            raise SFError('eof')
        s.i += 1
        return s.s[s.i - 1]

    def sp(s):
        while s.peek() == ' ':
            s.i += 1

    def ows(s):
        while s.peek() in (' ', '\t') and not s.eof():
            s.i += 1


def parse(lines, kind):
    """The value of a field: `lines` is a list of str with one character per byte, or one such str."""
    text = lines if isinstance(lines, str) else ', '.join(lines)
    if any(ord(c) > 127 for c in text):
        raise SFError('non-ASCII')
    p = P(text)
    p.sp()
    out = {'list': _list, 'dictionary': _dict, 'item': _item}[kind](p)
    p.sp()
    if not p.eof():
        raise SFError('trailing characters')
    return out


def _list(p):
    out = []
    while not p.eof():
        out.append(_member(p))
        p.ows()
        if p.eof():
            return out
        if p.take() != ',':
            raise SFError('expected comma')
        p.ows()
        if p.eof():
            raise SFError('trailing comma')
    return out


def _dict(p):
    out = {}
    while not p.eof():
        k = _key(p)
        if p.peek() == '=':
            p.i += 1
            v = _member(p)
        else:
            v = (True, _params(p))
        out[k] = v  # keeps the first position
        p.ows()
        if p.eof():
            break
        if p.take() != ',':
            raise SFError('expected comma')
        p.ows()
        if p.eof():
            raise SFError('trailing comma')
    return [[k, v] for k, v in out.items()]


def _member(p):
    if p.peek() == '(':
        p.i += 1
        items = []
        while True:
            p.sp()
            if p.peek() == ')':
                p.i += 1
                return (items, _params(p))
            if p.eof():
                raise SFError('unterminated inner list')
            items.append(_item(p))
            if p.peek() not in (' ', ')') or p.eof():
                raise SFError('inner list separator')
    return _item(p)


def _item(p):
    v = _bare(p)
    return (v, _params(p))


def _params(p):
    out = {}
    while p.peek() == ';':
        p.i += 1
        p.sp()
        k = _key(p)
        v = True
        if p.peek() == '=':
            p.i += 1
            v = _bare(p)
        out[k] = v
    return [[k, v] for k, v in out.items()]


def _key(p):
    if p.peek() not in LC + '*' or p.eof():
        raise SFError('bad key')
    k = p.take()
    while not p.eof() and p.peek() in LC + DIG + '_-.*':
        k += p.take()
    return k


def _bare(p):
    c = p.peek()
    if c == '':
        raise SFError('empty item')
    if c == '-' or c in DIG:
        return _number(p)
    if c == '"':
        return _string(p)
    if c == '*' or c in AL:
        t = p.take()
        while not p.eof() and (p.peek() in TCHAR or p.peek() in ':/'):
            t += p.take()
        return Token(t)
    if c == ':':
        return _binary(p)
    if c == '?':
        p.i += 1
        b = p.take()
        if b not in '01':
            raise SFError('boolean')
        return b == '1'
    if c == '@':
        p.i += 1
        v = _number(p)
        if isinstance(v, Decimal):
            raise SFError('date must be integer')
        return Date(v)
    if c == '%':
        return _display(p)
    raise SFError('unrecognised item')


def _number(p):
    sign = 1
    if p.peek() == '-':
        p.i += 1
        sign = -1
    if p.eof():
        raise SFError('empty number')
    if p.peek() not in DIG:
        raise SFError('number')
    num = ''
    dec = False
    while not p.eof():
        c = p.take()
        if c in DIG:
            num += c
        elif not dec and c == '.':
            if len(num) > 12:
                raise SFError('decimal too long')
            num += c
            dec = True
        else:
            p.i -= 1
            break
        if not dec and len(num) > 15:
            raise SFError('integer too long')
        if dec and len(num) > 16:
            raise SFError('decimal too long')
    if not dec:
        return sign * int(num)
    if num[-1] == '.':
        raise SFError('decimal ends with dot')
    if len(num) - num.index('.') - 1 > 3:
        raise SFError('too many decimals')
    return sign * Decimal(num)


def _string(p):
    p.take()
    out = ''
    while not p.eof():
        c = p.take()
        if c == '\\':
            if p.eof():
                raise SFError('string escape at end')
            n = p.take()
            if n not in '"\\':
                raise SFError('bad escape')
            out += n
        elif c == '"':
            return Str(out)
        elif not 0x20 <= ord(c) <= 0x7E:
            raise SFError('control character in string')
        else:
            out += c
    raise SFError('unterminated string')


def _binary(p):
    p.take()
    end = p.s.find(':', p.i)
    if end < 0:
        raise SFError('unterminated byte sequence')
    b = p.s[p.i : end]
    p.i = end + 1
    if any(c not in AL + DIG + '+/=' for c in b):
        raise SFError('byte sequence alphabet')
    core = b.rstrip('=')
    padding = len(b) - len(core)
    if '=' in core or padding > 2 or padding and len(b) % 4 != 0:
        raise SFError('padding')
    if len(core) % 4 == 1:
        raise SFError('length')
    try:
        return base64.b64decode(core + '=' * (-len(core) % 4))  # pad bits not checked
    except binascii.Error as e:
        raise SFError(str(e))


def _display(p):
    p.take()
    if p.eof() or p.take() != '"':
        raise SFError('display string')
    b = bytearray()
    while not p.eof():
        c = p.take()
        if not 0x20 <= ord(c) <= 0x7E:
            raise SFError('display string character')
        if c == '%':
            h = p.s[p.i : p.i + 2]
            if len(h) < 2 or any(x not in '0123456789abcdef' for x in h):
                raise SFError('percent')
            p.i += 2
            b.append(int(h, 16))
        elif c == '"':
            try:
                return DisplayStr(b.decode('utf-8'))
            except UnicodeDecodeError:
                raise SFError('utf-8')
        else:
            b += c.encode()
    raise SFError('unterminated display string')


# ---------------------------------------------------------------------------- serialise
def s_key(k):
    if not k or k[0] not in LC + '*' or any(c not in LC + DIG + '_-.*' for c in k):
        raise SFError('key')
    return k


def s_bare(v):
    if isinstance(v, bool):
        return '?1' if v else '?0'
    if isinstance(v, Date):
        return '@' + s_int(int(v))
    if isinstance(v, int):
        return s_int(v)
    if isinstance(v, (Decimal, float)):
        d = Decimal(str(v)) if isinstance(v, float) else v
        d = d.quantize(Decimal('0.001'), ROUND_HALF_EVEN)
        if abs(int(d)) > 999_999_999_999:
            raise SFError('decimal range')
        t = f'{d:f}'.rstrip('0')
        return t + '0' if t.endswith('.') else t
    if isinstance(v, Token):
        if not v or v[0] not in AL + '*' or any(c not in TCHAR and c not in ':/' for c in v):
            raise SFError('token')
        return str(v)
    if isinstance(v, (bytes, bytearray)):
        return ':' + base64.b64encode(v).decode() + ':'
    if isinstance(v, DisplayStr):
        return (
            '%"'
            + ''.join(
                chr(b) if 0x20 <= b <= 0x7E and b not in (0x25, 0x22) else f'%{b:02x}'
                for b in v.encode('utf-8')
            )
            + '"'
        )
    if isinstance(v, str):
        if any(not 0x20 <= ord(c) <= 0x7E for c in v):
            raise SFError('string character')
        return '"' + v.replace('\\', '\\\\').replace('"', '\\"') + '"'
    raise SFError('type')


def s_int(v):
    if abs(v) > 999_999_999_999_999:
        raise SFError('integer range')
    return str(v)


def s_params(ps):
    return ''.join(';' + s_key(k) + ('' if v is True else '=' + s_bare(v)) for k, v in ps)


def s_item(it):
    return s_bare(it[0]) + s_params(it[1])


def s_member(m):
    if isinstance(m[0], list):
        return '(' + ' '.join(s_item(i) for i in m[0]) + ')' + s_params(m[1])
    return s_item(m)


def s_list(l):
    return ', '.join(s_member(m) for m in l)


def s_dict(d):
    return ', '.join(
        s_key(k) + (s_params(v[1]) if v[0] is True else '=' + s_member(v)) for k, v in d
    )
