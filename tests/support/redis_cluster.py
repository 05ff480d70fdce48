"""A cluster of six redis-servers: three primaries, and a replica of each."""
import pathlib

from support.processes import free_port, until
from support.redis_server import RedisServer
from support.resp import Error

SLOTS = 16384
PRIMARIES = 3
# A dead primary is noticed within 1.5 s. Replicas may take over however old their data is.
OPTIONS = ('--bind', '127.0.0.1', '--cluster-enabled', 'yes', '--cluster-node-timeout', '1500',
           '--cluster-replica-validity-factor', '0')


class RedisCluster:
    """Is complete once it is made: nodes 0 to 2 are the primaries, node 3 is the replica of node 0, and so on."""

    def __init__(self, directory):
        self.nodes, self.ports = [], []
        for i in range(2 * PRIMARIES):
            place = pathlib.Path(directory) / f'n{i}'
            place.mkdir()
            self.ports.append(free_port())
            self.nodes.append(RedisServer(place, '--port', str(self.ports[i]), '--cluster-port',
                                          str(free_port()), *OPTIONS))
        for i, node in enumerate(self.nodes):
            assert node.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1) == 'OK'
            first, last = i * SLOTS // PRIMARIES, (i + 1) * SLOTS // PRIMARIES - 1
            if i < PRIMARIES:
                assert node.command('CLUSTER', 'ADDSLOTSRANGE', first, last) == 'OK'
            bus = dict(zip(node.options[::2], node.options[1::2]))['--cluster-port']
            assert self.nodes[0].command('CLUSTER', 'MEET', '127.0.0.1', self.ports[i], bus) == 'OK'
        until(lambda: all(self.info(i, 'cluster_known_nodes') == '6' for i in range(6)),
              'all nodes know each other')
        for i in range(PRIMARIES):
            until(lambda i=i: self.nodes[PRIMARIES + i].command('CLUSTER', 'REPLICATE', self.id(i)) == 'OK',
                  'a node becomes a replica')
        until(self.is_complete, 'the cluster is complete')

    def is_complete(self):
        return (all(self.info(i, 'cluster_state') == 'ok' for i in range(6)) and
                all(node.command('ROLE')[:1] == ['slave'] and node.command('ROLE')[3] == 'connected'
                    for node in self.nodes[PRIMARIES:]))

    def info(self, i, name):
        lines = self.nodes[i].command('CLUSTER', 'INFO').splitlines()
        return dict(line.split(':', 1) for line in lines if ':' in line)[name]

    def id(self, i):
        return self.nodes[i].command('CLUSTER', 'MYID')

    @property
    def settings(self):
        """The members of `redis` in a policy file."""
        nodes = ', '.join(f'"127.0.0.1:{self.ports[i]}"' for i in (0, 2 * PRIMARIES - 1))
        return f'nodes: [{nodes}], cluster: true'

    def primary_of(self, slot):
        """Once the primaries agree, also on the epoch: the next primary then takes a higher one, so that a
        late message of the former one does not undo the move."""
        def find():
            claims = [i for i in range(PRIMARIES) if self.has(i, slot)]
            epochs = {self.info(i, 'cluster_current_epoch') for i in range(PRIMARIES)}
            return [claims[0]] if len(claims) == 1 and len(epochs) == 1 else None
        return until(find, f'the primaries agree on slot {slot}')[0]

    def has(self, i, slot):
        own = self.nodes[i].command('CLUSTER', 'NODES')
        [mine] = [line for line in own.splitlines() if 'myself' in line]
        for word in mine.split()[8:]:
            first, _, last = word.partition('-')
            if not word.startswith('[') and int(first) <= slot <= int(last or first):
                return True
        return False

    def move(self, slot):
        """To the next primary, as redis-cli does it."""
        here = self.primary_of(slot)
        there = (here + 1) % PRIMARIES

        def set_slot(i, state, other):
            assert self.nodes[i].command('CLUSTER', 'SETSLOT', slot, state, self.id(other)) == 'OK'
        set_slot(there, 'IMPORTING', here)
        set_slot(here, 'MIGRATING', there)
        while keys := self.nodes[here].command('CLUSTER', 'GETKEYSINSLOT', slot, 10):
            moved = self.nodes[here].command('MIGRATE', '127.0.0.1', self.ports[there], '', 0, 60000,
                                             'KEYS', *keys)
            assert moved in ('OK', 'NOKEY'), moved
        for i in (there, here, 3 - here - there):
            set_slot(i, 'NODE', there)

    def slot_of(self, tag):
        return self.nodes[0].command('CLUSTER', 'KEYSLOT', tag)

    def has_taken_over(self, i):
        """Whether the replica of primary i is a primary now."""
        role = self.nodes[PRIMARIES + i].command('ROLE')
        return not isinstance(role, Error) and role[0] == 'master'

    def stop(self):
        for node in self.nodes:
            node.stop()
