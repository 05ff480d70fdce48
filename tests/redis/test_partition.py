"""The network between the processes and Redis is cut: no packet comes back, and no error."""
import pytest

from load import Load, Nginx, Server
from support.http_client import read_metrics
from support.network import Network, Unavailable
from support.policies import YEAR
from support.processes import free_port, until

WITHOUT = 'headgate_decisions_without_redis_total{policy="p"}'
PAGE = 'location / { return 200 "page"; } location = /metrics { headgate off; headgate_metrics; }'
SLACK = 2  # [s] beyond the timeout, on a machine with much to do


@pytest.fixture
def network():
    try:
        made = Network()
    except Unavailable as why:
        pytest.skip(str(why))
    yield made
    made.remove()


@pytest.mark.parametrize('law', ('linear', 'fixed-window'))
def test_a_partition(network, redis, serve, nginx, law):
    port = free_port()
    server = redis('--port', str(port), '--bind', network.address, '--protected-mode', 'no',
                   prefix=network.prefix)
    text = (f'version: 1\nstore: {{table: {{memory: 1MiB}}, redis: {{nodes: ["{network.address}:{port}"], '
            f'timeout: 100ms}}}}\npolicies:\n  - {{name: p, quota: 600, window: {YEAR}s, key: [], '
            f'algorithm: {law}, on-outage: {{local: 5%}}}}\n')
    one, gate = serve(text), nginx(text, server=PAGE)
    doors = [Server(one, key=''), Nginx(gate)]
    until(lambda: read_metrics(one.port)['headgate_redis_up'] == 1, 'it is connected')
    before = Load(doors, requests=50).join()
    without = [read_metrics(one.port)[WITHOUT], gate.metrics()[WITHOUT]]

    network.cut()
    cut = Load(doors, requests=60).join()
    alone = [read_metrics(one.port)[WITHOUT], gate.metrics()[WITHOUT]]
    assert [new - old for old, new in zip(without, alone)] == [120, 120], 'all were decided alone'
    assert cut.admitted == 2 * 30, 'each machine has 5 %'
    assert cut.longest < 0.1 + SLACK
    until(lambda: read_metrics(one.port)['headgate_redis_up'] == 0, 'the metrics say it')

    network.join()
    until(lambda: read_metrics(one.port)['headgate_redis_up'] == gate.metrics()['headgate_redis_up'] == 1,
          'both are connected again')
    after = Load(doors, requests=300).join()
    # Those that were sent when the cable was cut are charged perhaps. Four clients, and of each at most two: the
    # one that was under way, and one sent before its link knew that the former had waited too long.
    shared = before.admitted + after.admitted
    assert 600 - 4 * 2 - sum(without) <= shared <= 600, (before.admitted, after.admitted)
