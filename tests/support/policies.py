"""Policy files for tests. A window of a year gives nothing back while a test runs."""

YEAR = 365 * 24 * 3600


def policy(name='burst', quota=5, window=f'{YEAR}s', **more):
    lines = [f'  - name: {name}', f'    quota: {quota}', f'    window: {window}']
    lines += [f'    {key.replace("_", "-")}: {value}' for key, value in more.items()]
    return '\n'.join(lines)


def policies(*each, **settings):
    head = ['version: 1'] + [f'{key.replace("_", "-")}: {value}'
                             for key, value in settings.items()]
    return '\n'.join(head + ['policies:'] + list(each)) + '\n'


ONE = policies(policy(quota=1000))
FIVE = policies(policy())
FIELD = f'"burst";q=1000;w={YEAR}'
