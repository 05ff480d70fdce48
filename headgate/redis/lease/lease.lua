-- Lends units of one key to a process, which spends them without asking. The head of take.lua.
--
-- The law runs here, for what is given out. Units that were given and may be unspent are out; all
-- processes together never have more than `most` out. A process says with each call what it has
-- left of them. What a process has out is free again when its lease ends; it stops spending before.
--
-- KEYS[1]: the law's state, and for each process with a lease ' id:end:units:number'. The state is
--          of a linear law the time when its quota is full (seconds, nanoseconds), of a fixed window
--          its end [us] and the units given in it.
-- ARGV:  1: 'L'    2: the process' id    3: the number of this call; they increase
--        4: the length of the lease [us]    5: the most that may be out
--        6..9: the units that the process has out, gives back unspent, refunds, and wants besides
--       10: the requests that wait for this call: 'cost:count cost:count'
--       11: 'linear' or 'window'    12: the units that the law gives at once
--       13, 14: linear: the time [ns] in which so many units come back. Window: its length [us], 1
--       15: window: what aligned windows begin after [us], or -1
--       16: window: the end [us] of the one that the units given back are of
-- Returns Redis' time (2), 1 if the lease was still there, the units given, those that the law could
-- give besides, the law's state (2), how many processes have a lease, and for each pair of waiting
-- requests how many of them take their cost at once. The 1 is -1, and nothing is done, if a later
-- call came first.
if ARGV[1] == 'L' then
  local floor, format = math.floor, string.format
  local exact, up, down = 2 ^ 53, 1 + 2 ^ -50, 1 - 2 ^ -50  -- beyond `exact`, doubles are rounded
  local id, number, life, most = ARGV[2], ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
  local have, back, refund, want = ARGV[6] + 0, ARGV[7] + 0, ARGV[8] + 0, ARGV[9] + 0
  local quota, length, count, offset = ARGV[12] + 0, ARGV[13] + 0, ARGV[14] + 0, ARGV[15] + 0
  local clock = redis.call('TIME')
  local s, us = clock[1] + 0, clock[2] + 0
  local now = s * 1e6 + us

  local text = redis.call('GET', KEYS[1])
  local first, second, leases = string.match(text or '0 0', '^(%d+) (%d+)(.*)$')
  first, second = tonumber(first) or 0, tonumber(second) or 0
  local kept, others, holders, live = 0, 0, 0, {}
  for who, ends, units, of in string.gmatch(leases or '', ' (%x+):(%d+):(%d+):(%d+)') do
    if ends + 0 > now then
      if who ~= id then
        others, holders = others + units, holders + 1
        live[holders] = ' ' .. who .. ':' .. ends .. ':' .. units .. ':' .. of
      elseif of + 0 > number then
        return {clock[1], clock[2], -1, 0, 0, first, second, 0}
      else
        kept = 1
      end
    end
  end
  if kept == 0 then have = 0 end

  -- Each law: what it can give, and take(units), which gives them.
  local there, take, ends
  if ARGV[11] == 'linear' then
    -- The time in which n units come back, rounded up or down to a nanosecond.
    local function span(n, upwards)
      local product = n * length
      if product >= exact then
        local about = n * (length / count)
        return upwards and math.ceil(about * up) or floor(about * down)
      end
      local whole = floor(product / count)
      if whole * count > product then whole = whole - 1 end
      return upwards and whole * count < product and whole + 1 or whole
    end
    local full = span(quota, false)  -- from this debt on, it gives nothing
    local debt = (first - s) * 1e9 + (second - us * 1000)
    if debt > exact then debt = debt * up end
    -- It is greater if the clock went back, or under another law of the key. All of them have the
    -- whole window in common.
    debt = math.min(debt, span(quota + most, false))
    debt = debt - span(back + refund, false)
    if debt < 0 then debt = 0 end
    there = floor((full - debt) / (length / count)) + 1
    while there > 0 and span(there, true) > full - debt do there = there - 1 end
    there = math.max(there, 0)
    take = function(units)
      debt = debt + span(units, true)
      first, second = s + floor(debt / 1e9), us * 1000 + math.fmod(debt, 1e9)
      if second >= 1e9 then first, second = first + 1, second - 1e9 end
      ends = now + debt / 1000
    end
  else
    local start = offset < 0 and now or now - (now - offset) % length
    if first <= now then
      first, second = start + length, 0
    else
      if first - length > now then first = start + length end  -- the clock went back
      if ARGV[16] + 0 == first then second = second - back end
      -- What is out is not spent, and will pass yet.
      second = math.max(second - refund, math.min(second, others + have))
      if second == 0 then first = start + length end
    end
    there = math.max(quota - second, 0)
    take = function(units)
      second = second + units
      ends = second > 0 and first or now
    end
    life = math.min(life, first - now)
  end

  local answer, served = {}, 0
  for cost, requests in string.gmatch(ARGV[10], '(%d+):(%d+)') do
    cost = cost + 0
    local n = math.min(requests + 0, floor(there / cost))
    there, served = there - n * cost, served + n * cost
    answer[#answer + 1] = n
  end
  local given = math.max(math.min(want, there, most - others - have), 0)
  there = there - given
  take(served + given)

  have = have + given
  if want > 0 or have > 0 then
    holders = holders + 1
    live[holders] = format(' %s:%d:%d:%d', id, now + life, have, number)
    ends = math.max(ends, now + life)
  end
  if text or ends > now then
    redis.call('SET', KEYS[1], format('%d %d', first, second) .. table.concat(live), 'PX',
               format('%d', (ends - now) / 1000 + 1001))
  end
  return {clock[1], clock[2], kept, given, there, first, second, holders, unpack(answer)}
end

