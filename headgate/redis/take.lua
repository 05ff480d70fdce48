-- Takes the charges of bundles, one bundle after the other, each all or none, in one step. The arithmetic is
-- that of limit/linear.h; every other law was decided before the call, and is only compared and written here.
--
-- A time is two numbers: seconds, and ticks of 1/scale nanoseconds within the second. Each number,
-- and each sum of two, is below 2^53, so that Lua's doubles are exact.
--
-- KEYS: those of the linear charges, then those of the swapped ones.
-- ARGV[1]: empty: the time is Redis' own. Or the time, and how long keys are kept beyond their need [ms]:
--          struct '<ddd'
-- ARGV[2]: the linear charges, 57 bytes each: struct '<Bddddddd'.
-- ARGV[3]: the bundles, 4 bytes each: how many linear charges it has; 1 if a charge that is not here is
--          denied; how many swapped keys it writes; and 1 if it is to be admitted.
-- ARGV[4...]: per swapped key, the value that it must have (empty: none).
-- Then five per write, in the order of the bundles: the number of the swapped key (from 1), the value and
--          the time to live [ms, 0: not written] if the bundle is admitted, the same if it is denied.
-- Returns Redis' time, a 1 or 0 per bundle (admitted, denied) as one text, and the former values of the
-- bundles' linear keys. What was decided before the call for the bundles behind one that writes is right
-- only if its verdict was foreseen: otherwise they are left undecided, and the values of the swapped keys
-- are returned, too. If a swapped key has another value at the begin, returns Redis' time, -1 and the values
-- of the swapped keys.
local call, pcall, unpack, sub, tonumber = redis.call, redis.pcall, struct.unpack, string.sub, tonumber
local byte, format = string.byte, string.format  -- with %d: %.0f, and the conversion of a number by call(), are slow
local spend, spend_always, peek, look, never, refund = 1, 2, 3, 4, 5, 6  -- and 7: debit

local clock, now, nanos, kept = nil, 0, 0, 1000
if ARGV[1] == '' then
  clock = call('TIME')
  now, nanos = clock[1] + 0, clock[2] * 1000
else
  now, nanos, kept = unpack('<ddd', ARGV[1])
end

local linear = #ARGV[2] / 57
local swapped = #KEYS - linear

local changed = false
for i = 1, swapped do
  local value = pcall('GET', KEYS[linear + i])
  if type(value) == 'table' then
    -- One that is no text is none of ours, and is replaced.
    if not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
    value = false
  end
  if (value or '') ~= ARGV[3 + i] then
    changed = true
    break
  end
end

local reply = {clock and clock[1] or 0, clock and clock[2] or 0, changed and -1 or ''}
local written = swapped > 0 and {}  -- per swapped key, where in ARGV its last value is
local at, last = 4 + swapped, 0
for bundle = 1, changed and 0 or #ARGV[3], 4 do
  local charges, denied, writes_to, foreseen = byte(ARGV[3], bundle, bundle + 3)
  local first = last + 1
  last = last + charges
  local admitted = denied == 0
  local later  -- key, value and time to live of what is written if all others are admitted, too
  -- A state is a debt here: the time from now until the quota is full.
  for i = first, last do
    local op, scale, need_s, need_t, window_s, window_t, most_s, most_t =
      unpack('<Bddddddd', ARGV[2], 57 * i - 56)
    local second = 1e9 * scale
    local old = pcall('GET', KEYS[i])
    if type(old) == 'table' then
      -- A key that is no text is none of ours; an error now could come after another bundle was taken.
      -- What may not be read is no full quota.
      if not string.find(old.err, 'WRONGTYPE', 1, true) then return old end
      old = false
    end
    reply[i + 3] = old
    local s, t = -1, 0
    if old then
      local old_s, old_t = tonumber(sub(old, 1, -10)), tonumber(sub(old, -9))
      if old_s and old_t then
        old_t = old_t * scale
      else  -- a fraction of a nanosecond; rounded up if it is of another scale
        local whole, part, of = string.match(old, '^(%d+)%+(%d+)/(%d+)$')
        if whole then
          old_s, old_t = tonumber(sub(whole, 1, -10)), tonumber(sub(whole, -9)) * scale
          old_t = old_t + (tonumber(of) == scale and tonumber(part) or scale)
        end
      end
      if old_s then
        s, t = old_s - now, old_t - nanos * scale
        if t < 0 then
          s, t = s - 1, t + second
        elseif t >= second then
          s, t = s + 1, t - second
        end
      end
    end
    local far = s > most_s or (s == most_s and t > most_t)
    if s < 0 then
      s, t = 0, 0
    elseif far then
      s, t = most_s, most_t
    end
    local next_s, next_t = s, t
    local writes = far and 2 or nil  -- 1: if all are admitted; 2: in any case
    if op == refund then
      next_s, next_t = s - need_s, t - need_t
      if next_t < 0 then next_s, next_t = next_s - 1, next_t + second end
      if next_s < 0 then next_s, next_t = 0, 0 end
      if (need_s > 0 or need_t > 0) and (s > 0 or t > 0) then writes = 2 end
    elseif op ~= look and op ~= never then
      next_s, next_t = s + need_s, t + need_t
      if next_t >= second then next_s, next_t = next_s + 1, next_t - second end
      local passes = next_s < window_s or (next_s == window_s and next_t <= window_t)
      if op == spend or op == peek then
        if not passes then admitted = false end
        if op == spend and passes then
          writes = 1
        else
          next_s, next_t = s, t
        end
      elseif op == spend_always then
        if passes then
          writes = (far or need_s > 0 or need_t > 0) and 1 or nil
        else
          admitted = false
          if need_s > 0 or need_t > 0 then writes = 2 end
        end
      else
        if next_s > most_s or (next_s == most_s and next_t > most_t) then
          next_s, next_t = most_s, most_t
        end
        if next_s ~= s or next_t ~= t then writes = 2 end
      end
    elseif op == never then
      admitted = false
    end
    if writes == 2 or (writes and admitted) then
      local ms = next_s * 1000 + math.ceil(next_t / (1e6 * scale)) + kept
      if ms > 4503599627370496 then ms = 4503599627370496 end  -- 2^52
      ms = format('%d', ms)
      next_s, next_t = now + next_s, nanos * scale + next_t
      if next_t >= second then next_s, next_t = next_s + 1, next_t - second end
      local value
      if scale == 1 then
        value = format('%d%09d', next_s, next_t)
      else
        local part = math.fmod(next_t, scale)
        value = format('%d%09d', next_s, (next_t - part) / scale)
        if part > 0 then value = value .. format('+%d/%d', part, scale) end
      end
      if writes == 2 or i == last then
        call('SET', KEYS[i], value, 'PX', ms)
      else
        later = later or {}
        later[#later + 1], later[#later + 2], later[#later + 3] = KEYS[i], value, ms
      end
    end
  end
  if admitted and later then
    for j = 1, #later, 3 do call('SET', later[j], later[j + 1], 'PX', later[j + 2]) end
  end
  reply[3] = reply[3] .. (admitted and '1' or '0')
  for _ = 1, writes_to do
    local value = at + (admitted and 1 or 3)
    if ARGV[value + 1] ~= '0' then written[ARGV[at] + 0] = value end
    at = at + 5
  end
  if writes_to > 0 and admitted ~= (foreseen == 1) and bundle + 4 < #ARGV[3] then break end
end

if swapped > 0 then
  for i, value in pairs(written) do
    call('SET', KEYS[linear + i], ARGV[value], 'PX', ARGV[value + 1])
  end
  if changed or 4 * #reply[3] < #ARGV[3] then
    if not clock then
      clock = call('TIME')
      reply[1], reply[2] = clock[1], clock[2]
    end
    for i = linear + 1, #KEYS do
      local value = pcall('GET', KEYS[i])
      reply[#reply + 1] = type(value) ~= 'table' and value
    end
  end
end
return reply
