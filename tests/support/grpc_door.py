"""What tests of the gRPC door start and ask."""
from support.frames import rate_limit_request

TOKEN = 'a-token-of-some-length'
POLICIES = '''
version: 1
policies:
  - {name: burst, quota: 1000000000, window: 1s, key: []}
'''
REQUEST = rate_limit_request('headgate', 'policy=burst,key=x')
