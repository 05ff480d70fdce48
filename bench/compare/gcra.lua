-- A rate limiter as a Redis script: what CL.THROTTLE does, as well as Lua can. KEYS[1] holds the time when
-- the bucket is full again. ARGV: microseconds a unit, units at once, units asked for.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local unit, capacity, asked = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
local after = full + asked * unit
local wait = after - now - capacity * unit
if wait > 0 then
  return {1, capacity, math.floor((capacity * unit - full + now) / unit), math.ceil(wait / 1000000),
          math.ceil((full - now) / 1000000)}
end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
return {0, capacity, math.floor(-wait / unit), -1, math.ceil((after - now) / 1000000)}
