"""Certificates that openssl makes: authorities, and servers' certificates that they sign."""
import pathlib
import subprocess


def openssl(*arguments, prefix=()):
    done = subprocess.run([*prefix, 'openssl', *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Authority:
    """Keys, requests and certificates are files in `directory`, named after the server or authority."""

    def __init__(self, directory, name='authority'):
        self.directory = pathlib.Path(directory)
        self.file = self.directory / f'{name}.crt'
        self.key = self.directory / f'{name}.key'
        openssl('req', '-x509', *self.new_key(self.key), '-subj', f'/CN={name}', '-days', 2,
                '-addext', 'keyUsage=critical,keyCertSign', '-out', self.file)

    def sign(self, name, subject='IP:127.0.0.1', has_expired=False):
        """The certificate and the key of a server."""
        request, key, certificate = (self.directory / f'{name}.{kind}' for kind in ('csr', 'key', 'crt'))
        extensions = self.directory / f'{name}.ext'
        extensions.write_text(f'subjectAltName={subject}\n')
        openssl('req', '-new', *self.new_key(key), '-subj', f'/CN={name}', '-out', request)
        # openssl 3.5 makes none that has expired already.
        openssl('x509', '-req', '-in', request, '-CA', self.file, '-CAkey', self.key, '-days', 2,
                '-extfile', extensions, '-out', certificate, prefix=['faketime', '3 days ago'] if has_expired else [])
        return certificate, key

    @staticmethod
    def new_key(file):
        return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file]
