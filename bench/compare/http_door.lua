-- wrk's script for the comparison of the HTTP door: requests for 100,000 random keys, formatted before
-- the measurement starts.
--
--   wrk ... -s http_door.lua URL -- KIND [DELAY]
--
-- KIND is plain (GET /?k=KEY), auth (GET /auth, as a proxy sends it) or decide (POST /v1/decide).
-- With DELAY each connection waits for a random time before its next request: DELAY ms on average.
-- Ends with one line of JSON.

local keys = 100000
local requests = {}
local wait = 0
local worker

function setup(thread)
  worker = thread
end

local function formatted(kind, key)
  if kind == "auth" then
    return wrk.format("GET", "/auth", {
      ["X-Forwarded-Method"] = "GET",
      ["X-Forwarded-Proto"] = "http",
      ["X-Forwarded-Host"] = "api.example",
      ["X-Forwarded-Uri"] = "/?k=" .. key,
      ["X-Forwarded-For"] = "127.0.0.1",
    })
  elseif kind == "decide" then
    return wrk.format("POST", "/v1/decide", { ["Content-Type"] = "application/json" },
                      '{"checks":[{"policy":"burst","key":"' .. key .. '","cost":1}]}')
  end
  return wrk.format("GET", "/?k=" .. key)
end

function init(args)
  for i = 1, keys do
    requests[i] = formatted(args[1], string.format("user:%015d", i))
  end
  math.randomseed(os.time())
  if args[2] then
    wait = tonumber(args[2])
    delay = function() return math.random(0, 2 * wait) end
  end
end

function request()
  return requests[math.random(keys)]
end

function done(summary, latency)
  local e = summary.errors
  print(string.format(
    '{"requests": %d, "microseconds": %d, "refused": %d, "broken": %d, "p99": %d}',
    summary.requests, summary.duration, e.status, e.connect + e.read + e.write + e.timeout,
    latency:percentile(99)))
end
