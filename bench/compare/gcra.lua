-- A rate limiter as a Redis script: does what CL.THROTTLE does, as fast as Lua can. KEYS[1] has the time at
-- which the bucket is full again. ARGV: microseconds per unit, units of a burst, units requested.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local unit, capacity, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
local after = full + cost * unit
local wait = after - now - capacity * unit
if wait > 0 then
  return {1, capacity, math.floor((capacity * unit - full + now) / unit), math.ceil(wait / 1000000),
          math.ceil((full - now) / 1000000)}
end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
return {0, capacity, math.floor(-wait / unit), -1, math.ceil((after - now) / 1000000)}
