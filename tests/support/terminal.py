"""Programs whose standard error is a terminal."""
import os
import pty
import subprocess


def read_to_the_end(terminal):
    text = b''
    try:
        while block := os.read(terminal, 65536):
            text += block
    except OSError:
        pass  # the terminal's other end is closed
    os.close(terminal)
    return text


def shown_on_a_terminal(command, cwd, status=0, **environment):
    """What it writes there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, cwd=cwd,
                          env=os.environ | environment) as process:
        os.close(theirs)
        shown = read_to_the_end(ours)
    assert process.returncode == status
    return shown
