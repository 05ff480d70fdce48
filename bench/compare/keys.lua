-- wrk's side of the comparison: requests for keys user:000000000000001 and so on, each formatted
-- once, before the clock starts.
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
    local asked = 0
    request = function()
      asked = asked + 1
      if asked > keys + 10000 then -- the last of the keys was answered long ago
        print("{}")
        os.exit(0) -- wrk itself would sleep out its time
      end
      return requests[(asked - 1) % keys + 1]
    end
  end
end

-- A name for done() to find: processor time spent before the first request [s].
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
