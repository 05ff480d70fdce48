"""examples/containers: manifests that have the right form, fit together, and hold policy files that headgate reads."""
import os
import signal
import subprocess

import jsonschema
import pytest
import yaml

from schemas import COMPOSE, KINDS
from support.environment import ROOT
from support.processes import stop, until

CONTAINERS = ROOT / 'examples' / 'containers'
MANIFESTS = sorted((CONTAINERS / 'kubernetes').glob('*.yaml'))


def documents(file):
    return list(yaml.safe_load_all(file.read_text()))


ALL = [document for file in MANIFESTS for document in documents(file)]


def of_kind(kind):
    return {one['metadata']['name']: one for one in ALL if one['kind'] == kind}


def containers():
    return [(pod, container) for deployment in of_kind('Deployment').values()
            for pod in [deployment['spec']['template']['spec']] for container in pod['containers']]


def misspelt(value):
    """Copies of a value in each of which one member has another name. Those whose names are free stay."""
    if isinstance(value, dict):
        for name, content in value.items():
            yield {f'{key}x' if key == name else key: inner for key, inner in value.items()}
            free = name in ('labels', 'matchLabels', 'annotations', 'data') or name == 'selector' and 'app' in content
            yield from ({**value, name: other} for other in ([] if free else misspelt(content)))
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from ([*value[:n], other, *value[n + 1:]] for other in misspelt(item))


@pytest.mark.parametrize('file', MANIFESTS, ids=lambda file: file.name)
def test_every_document_has_the_form_of_its_kind(file):
    for document in documents(file):
        jsonschema.validate(document, KINDS[document['kind']])


def test_compose():
    jsonschema.validate(yaml.safe_load((CONTAINERS / 'compose.yaml').read_text()), COMPOSE)


@pytest.mark.parametrize('document', ALL, ids=lambda one: f'{one["kind"]}-{one["metadata"]["name"]}')
def test_a_misspelt_member_is_found_wherever_it_is(document):
    schema = jsonschema.Draft7Validator(KINDS[document['kind']])
    found = [other for other in misspelt(document) if not schema.is_valid(other)]
    assert found == list(misspelt(document)) and len(found) >= 4


def test_what_is_named_is_there():
    labels = [one['spec']['template']['metadata']['labels'] for one in of_kind('Deployment').values()]
    ports = {port['name'] for _, container in containers() for port in container.get('ports', [])}
    for deployment in of_kind('Deployment').values():
        assert deployment['spec']['selector']['matchLabels'] == deployment['spec']['template']['metadata']['labels']
    for service in of_kind('Service').values():
        assert service['spec']['selector'] in labels
        assert {port['targetPort'] for port in service['spec']['ports']} <= ports
    for pod, container in containers():
        volumes = {volume['name']: volume for volume in pod['volumes']}
        assert {mount['name'] for mount in container['volumeMounts']} <= set(volumes)
        assert all(volume['configMap']['name'] in of_kind('ConfigMap') for volume in volumes.values()
                   if 'configMap' in volume)
    backends = [path['backend']['service']['name'] for one in of_kind('Ingress').values()
                for rule in one['spec']['rules'] for path in rule['http']['paths']]
    backends += [backend['name'] for one in of_kind('HTTPRoute').values()
                 for rule in one['spec']['rules'] for backend in rule['backendRefs']]
    assert len(backends) == 2 and set(backends) <= set(of_kind('Service'))


def test_containers_are_locked():
    for pod, container in containers():
        assert pod['securityContext']['runAsNonRoot'] and not pod['automountServiceAccountToken']
        assert container['securityContext'] == {'allowPrivilegeEscalation': False, 'readOnlyRootFilesystem': True,
                                                'capabilities': {'drop': ['ALL']}}


def test_policy_files(headgate, tmp_path):
    policies = [one['data']['headgate.yaml'] for one in of_kind('ConfigMap').values()]
    policies.append((CONTAINERS / 'headgate.yaml').read_text())
    for text in policies:
        (tmp_path / 'headgate.yaml').write_text(text)
        checked = headgate('check', 'headgate.yaml')
        assert checked.returncode == 0, checked.stderr


def test_the_health_check_of_compose(headgate, serve):
    server = serve(yaml.safe_dump({'version': 1, 'policies': [{'name': 'burst', 'quota': 5, 'window': '1m'}]}),
                   doors={'http': '127.0.0.1:0'})
    check = yaml.safe_load((CONTAINERS / 'compose.yaml').read_text())['services']['headgate']['healthcheck']['test']
    assert check[:2] == ['CMD', 'headgate']
    url = f'http://127.0.0.1:{server.port}/healthz'
    assert headgate(*check[2:-1], url).returncode == 0
    server.stop()
    assert headgate(*check[2:-1], url).returncode == 1


def test_a_changed_configmap_is_signalled(tmp_path):
    """The loop of the container `reload`, with another folder and another way to find the process."""
    script = next(container['command'][2] for _, container in containers() if container['name'] == 'reload')
    file = tmp_path / 'headgate.yaml'
    file.write_text('old')
    seen = []
    before = signal.signal(signal.SIGHUP, lambda *_: seen.append(1))
    script = script.replace('/etc/headgate', str(tmp_path)).replace('$(pidof headgate)', str(os.getpid()))
    loop = subprocess.Popen(['sh', '-c', f'echo ready; {script}'], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, 'INTERVAL': '0.01'})
    try:
        def changed():
            # It may read the file for the first time after a change: then it is changed once more.
            file.write_text(file.read_text() + '.')
            return seen
        assert loop.stdout.readline() == 'ready\n'
        until(changed, 'it sends SIGHUP')
        assert stop(loop) == 0
    finally:
        loop.kill()
        signal.signal(signal.SIGHUP, before)
        loop.stdout.close()
