"""JSON Schemas of what the examples use of Compose and of Kubernetes' and Gateway API's kinds.

No schema of these is among Debian's packages. These were written from the projects' references and are stricter: a
member that is not listed here is a fault, so that a misspelt one is found.
"""
TEXT = {'type': 'string', 'minLength': 1}
NAME = {'type': 'string', 'pattern': '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$', 'maxLength': 63}
YES_NO = {'type': 'boolean'}
NUMBER = {'type': 'integer', 'minimum': 0}
PORT = {'type': 'integer', 'minimum': 1, 'maximum': 65535}
PORT_OR_NAME = {'anyOf': [PORT, NAME]}
QUANTITY = {'type': 'string', 'pattern': '^[0-9]+(m|Ki|Mi|Gi)?$'}
TEXTS = {'type': 'object', 'additionalProperties': {'type': 'string'}}


def one_of(*values):
    return {'enum': list(values)}


def list_of(item):
    return {'type': 'array', 'items': item}


def members(*required, **optional):
    """An object with these members and no others. `required` are pairs of a name and a schema."""
    return {'type': 'object', 'additionalProperties': False, 'required': [name for name, _ in required],
            'properties': {**dict(required), **optional}}


def kind(version, name, **content):
    return members(('apiVersion', one_of(version)), ('kind', one_of(name)),
                   ('metadata', members(('name', NAME), labels=TEXTS, annotations=TEXTS)), *content.items())


LABELS = members(matchLabels=TEXTS)
PROBE = {
    **members(httpGet=members(('path', {'type': 'string', 'pattern': '^/'}), ('port', PORT_OR_NAME)),
              tcpSocket=members(('port', PORT_OR_NAME)), periodSeconds=NUMBER, failureThreshold=NUMBER),
    'oneOf': [{'required': ['httpGet']}, {'required': ['tcpSocket']}]}
CONTAINER = members(
    ('name', NAME), ('image', TEXT), command=list_of(TEXT), args=list_of(TEXT),
    ports=list_of(members(('containerPort', PORT), name=NAME)),
    startupProbe=PROBE, readinessProbe=PROBE, livenessProbe=PROBE,
    resources=members(requests=members(cpu=QUANTITY, memory=QUANTITY), limits=members(cpu=QUANTITY, memory=QUANTITY)),
    securityContext=members(allowPrivilegeEscalation=YES_NO, readOnlyRootFilesystem=YES_NO,
                            capabilities=members(drop=list_of(TEXT))),
    volumeMounts=list_of(members(('name', NAME), ('mountPath', TEXT), readOnly=YES_NO)))
POD = members(
    ('containers', list_of(CONTAINER)), automountServiceAccountToken=YES_NO, shareProcessNamespace=YES_NO,
    terminationGracePeriodSeconds=NUMBER,
    securityContext=members(runAsNonRoot=YES_NO, runAsUser=NUMBER, runAsGroup=NUMBER,
                            seccompProfile=members(('type', one_of('RuntimeDefault')))),
    volumes=list_of(members(('name', NAME), configMap=members(('name', NAME)),
                            emptyDir=members(medium=one_of('Memory'), sizeLimit=QUANTITY))))
PEERS = list_of(members(podSelector=LABELS, namespaceSelector=LABELS))
NETWORK_PORTS = list_of(members(('port', PORT_OR_NAME), ('protocol', one_of('TCP', 'UDP'))))
PATH = members(
    ('path', TEXT), ('pathType', one_of('Prefix', 'Exact', 'ImplementationSpecific')),
    ('backend', members(('service', members(('name', NAME), ('port', members(name=NAME, number=PORT)))))))
GATEWAY_API = 'gateway.networking.k8s.io/v1'

KINDS = {
    'ConfigMap': kind('v1', 'ConfigMap', data=TEXTS),
    'Deployment': kind('apps/v1', 'Deployment', spec=members(
        ('selector', LABELS), ('template', members(('metadata', members(labels=TEXTS)), ('spec', POD))), replicas=NUMBER)),
    'Service': kind('v1', 'Service', spec=members(
        ('selector', TEXTS), ('ports', list_of(members(('port', PORT), name=NAME, targetPort=PORT_OR_NAME))))),
    'NetworkPolicy': kind('networking.k8s.io/v1', 'NetworkPolicy', spec=members(
        ('podSelector', LABELS), ('policyTypes', list_of(one_of('Ingress', 'Egress'))),
        ingress=list_of(members(**{'from': PEERS}, ports=NETWORK_PORTS)),
        egress=list_of(members(to=PEERS, ports=NETWORK_PORTS)))),
    'Ingress': kind('networking.k8s.io/v1', 'Ingress', spec=members(
        ('ingressClassName', NAME), ('rules', list_of(members(('host', NAME), ('http', members(('paths', list_of(PATH))))))))),
    'GatewayClass': kind(GATEWAY_API, 'GatewayClass', spec=members(('controllerName', TEXT))),
    'Gateway': kind(GATEWAY_API, 'Gateway', spec=members(
        ('gatewayClassName', NAME),
        ('listeners', list_of(members(('name', NAME), ('protocol', one_of('HTTP', 'HTTPS')), ('port', PORT)))))),
    'HTTPRoute': kind(GATEWAY_API, 'HTTPRoute', spec=members(
        ('parentRefs', list_of(members(('name', NAME)))), ('rules', list_of(members(
            ('backendRefs', list_of(members(('name', NAME), ('port', PORT)))),
            matches=list_of(members(path=members(('type', one_of('PathPrefix', 'Exact')), ('value', TEXT))))))),
        hostnames=list_of(NAME))),
}

COMPOSE = {
    'type': 'object', 'required': ['services'], 'additionalProperties': False, 'patternProperties': {'^x-': {}},
    'properties': {'services': {'type': 'object', 'additionalProperties': members(
        ('image', TEXT), command=list_of(TEXT), ports=list_of(TEXT), volumes=list_of(TEXT), read_only=YES_NO,
        tmpfs=list_of(TEXT), cap_drop=list_of(TEXT), security_opt=list_of(TEXT), restart=one_of('unless-stopped'),
        stop_grace_period={'type': 'string', 'pattern': '^[0-9]+s$'}, depends_on=list_of(NAME),
        healthcheck=members(('test', list_of(TEXT)), interval=TEXT, timeout=TEXT))}},
}
