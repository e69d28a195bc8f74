/// Arbitrary bytes as a checkpoint: refused with an Error, or round-tripped without changes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "engine/train/checkpoint.hpp"
#include "tests/fuzz/scratch_file.hpp"

namespace {

bool same_bits(const float* a, const float* b, std::size_t count) { return count == 0 || std::memcmp(a, b, count * sizeof(float)) == 0; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // The first byte says how much of the rest is a config.json, for foreign models.
    const std::size_t split = size == 0 ? 0 : std::min<std::size_t>(data[0], size - 1);
    const std::string config_json(reinterpret_cast<const char*>(data) + (size > 0), split);
    attn::Checkpoint checkpoint;
    try {
        attn::MemoryInput source(std::as_bytes(std::span(data, size)).subspan(split + (size > 0)), "input");
        checkpoint = attn::read_checkpoint(source, config_json);
    } catch (const attn::Error&) {
        return 0;
    }
    // What was accepted must be writable: an Error from here on is a finding. Foreign models have no vocabulary to write.
    if (checkpoint.vocabulary.empty()) return 0;
    const attn::test::ScratchFile again;
    attn::write_checkpoint(again.path(), checkpoint);
    const attn::Checkpoint back = attn::read_checkpoint(again.path());
    const auto count = static_cast<std::size_t>(checkpoint.parameters->count());
    if (back.steps != checkpoint.steps || back.vocabulary != checkpoint.vocabulary || back.resumable() != checkpoint.resumable() ||
        static_cast<std::size_t>(back.parameters->count()) != count ||
        !same_bits(back.parameters->data(), checkpoint.parameters->data(), count) ||
        !same_bits(back.first_moments.data(), checkpoint.first_moments.data(), checkpoint.first_moments.size()))
        std::abort();
    return 0;
}
