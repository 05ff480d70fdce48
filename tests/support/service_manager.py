"""What a process tells the service manager, as systemd receives it."""
import socket

from support.environment import PATIENCE


class ServiceManager:
    """Listens at `address`, which a service finds in its variable NOTIFY_SOCKET."""

    def __init__(self, directory):
        self.address = str(directory / 'notify')
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        self.socket.bind(self.address)

    def next(self):
        """The next message, as a dictionary: {'READY': '1'}."""
        message = self.socket.recv(4096).decode()
        return dict(line.split('=', 1) for line in message.splitlines())

    def close(self):
        self.socket.close()
