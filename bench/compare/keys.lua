-- wrk's script for the comparison of nginx: requests for keys user:000000000000001 and so on, formatted
-- before the measurement starts.
--
--   wrk ... -s keys.lua URL -- KEYS random    random keys for as long as wrk runs
--   wrk ... -s keys.lua URL -- KEYS each      every key once, in order; then wrk stops
--
-- Ends with one line of JSON.

local requests, keys = {}, 0
local worker

function setup(thread)
  worker = thread
end

function init(args)
  keys = tonumber(args[1])
  for i = 1, keys do
    requests[i] = wrk.format("GET", string.format("/?k=user:%015d", i))
  end
  math.randomseed(os.time())
  prepared = os.clock()
  if args[2] == "each" then
    local sent = 0
    request = function()
      sent = sent + 1
      if sent > keys + 10000 then -- the responses for all keys have long arrived
        print("{}")
        os.exit(0) -- otherwise wrk would wait for the end of its duration
      end
      return requests[(sent - 1) % keys + 1]
    end
  end
end

-- Global, because done() reads it: processor time before the first request [s].
prepared = 0

function request()
  return requests[math.random(keys)]
end

function done(summary, latency)
  local e = summary.errors
  print(string.format(
    '{"requests": %d, "microseconds": %d, "refused": %d, "broken": %d, "p99": %d, "cpu": %f}',
    summary.requests, summary.duration, e.status, e.connect + e.read + e.write + e.timeout,
    latency:percentile(99), os.clock() - worker:get("prepared")))
end
