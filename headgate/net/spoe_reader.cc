#include "headgate/net/spoe_reader.h"

#include <utility>

#include "headgate/net/spoe_data.h"

namespace headgate::net {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t head_min = 7;  // type, flags, and a byte for each of both numbers

std::uint32_t big_endian(std::string_view four) noexcept {
  std::uint32_t number = 0;
  for (const char c : four) number = number << 8 | static_cast<std::uint8_t>(c);
  return number;
}

bool is_of_haproxy(SpoeFrameType type) noexcept {
  return static_cast<std::uint8_t>(type) <= static_cast<std::uint8_t>(SpoeFrameType::notify);
}

}  // namespace

SpoeReader::Found SpoeReader::read(std::string_view bytes) {
  if (state_ == State::whole && !joined_.empty()) forget();
  used_ = 0;
  for (;;) {
    const std::size_t before = used_;
    const Found found = read_one(bytes.substr(used_));
    // A fragment, or a frame of an unknown type, was read: the next one follows.
    if (found == Found::more && used_ > before) continue;
    return found;
  }
}

// Reads one frame at the beginning of `bytes`. Found::more: it is not the last one of a payload, or
// has not arrived completely.
SpoeReader::Found SpoeReader::read_one(std::string_view bytes) {
  if (bytes.size() < length_bytes) return Found::more;
  const std::uint32_t size = big_endian(bytes.substr(0, length_bytes));
  if (size > frame_max_) return fail(SpoeStatus::too_big, "a frame is longer than negotiated");
  if (size < head_min) return fail(SpoeStatus::invalid, "a frame is shorter than its head");
  if (bytes.size() - length_bytes < size) return Found::more;
  SpoeCursor cursor(bytes.substr(length_bytes, size));
  frame_.type = static_cast<SpoeFrameType>(*cursor.byte());
  frame_.flags = big_endian(*cursor.bytes(4));
  const auto stream_id = cursor.varint();
  const auto frame_id = stream_id ? cursor.varint() : std::nullopt;
  if (!frame_id) return fail(SpoeStatus::invalid, "a frame's stream-id or frame-id is malformed");
  frame_.stream_id = *stream_id;
  frame_.frame_id = *frame_id;
  frame_.payload = cursor.rest();
  used_ += length_bytes + size;
  if (!is_of_haproxy(frame_.type)) return Found::more;
  return state_ == State::whole ? begin() : join();
}

// A frame that does not follow fragments.
SpoeReader::Found SpoeReader::begin() {
  if (frame_.type == SpoeFrameType::unset) {
    return fail(SpoeStatus::unknown_frame_id, "a fragment follows no first one");
  }
  if (frame_.is_final()) return Found::frame;
  if (frame_.type != SpoeFrameType::notify || !greeted_) {
    return fail(SpoeStatus::no_fragments,
                "only NOTIFY frames after the handshake may be fragmented");
  }
  first_ = frame_;
  joined_.assign(frame_.payload);
  state_ = State::joining;
  return Found::more;
}

SpoeReader::Found SpoeReader::join() {
  if (frame_.type == SpoeFrameType::haproxy_disconnect) return Found::frame;
  if (frame_.type != SpoeFrameType::unset) {
    return fail(SpoeStatus::interlaced, "a frame came between the fragments of another one");
  }
  if (!frame_.is_same_as(first_)) {
    return fail(SpoeStatus::unknown_frame_id, "a fragment has another stream-id or frame-id");
  }
  const bool is_last = frame_.is_final();
  if (frame_.is_aborted()) {
    if (is_last) forget();
    return Found::more;
  }
  if (frame_.payload.size() > fragments_most - joined_.size()) state_ = State::skipping;
  if (state_ == State::joining) joined_.append(frame_.payload);
  if (!is_last) return Found::more;
  frame_ = first_;
  frame_.flags = SpoeFrame::fin;
  frame_.payload = joined_;
  const bool is_whole = std::exchange(state_, State::whole) == State::joining;
  return is_whole ? Found::frame : Found::too_long;
}

SpoeReader::Found SpoeReader::fail(SpoeStatus status, std::string_view what) noexcept {
  fault_ = {status, what};
  return Found::fault;
}

void SpoeReader::forget() noexcept {
  std::string().swap(joined_);
  state_ = State::whole;
}

}  // namespace headgate::net
