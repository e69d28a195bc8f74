#include "engine/train/dataset.hpp"

#include <map>
#include <utility>

#include "engine/tensor/error.hpp"
#include "engine/train/sequence_source.hpp"

namespace attn {
namespace {

/// The streams of sequences, apart from those of parameters and dropout.
constexpr std::uint64_t kDataStream = 0x64617461;
constexpr int kSequenceBits = 20;  // of a stream's number; the step has the rest

std::unique_ptr<const SequenceSource> make_source(const TaskSettings& settings, std::uint64_t seed) {
    validate(settings);
    switch (settings.kind) {
    case TaskKind::Addition:
        return make_addition_source(settings, seed);
    case TaskKind::Text:
        return make_text_source(settings);
    case TaskKind::Sum:
        return make_sum_source(settings, seed);
    case TaskKind::Stories:
        return make_story_source(settings, seed);
    default:
        return make_symbol_source(settings, seed);
    }
}

void resize(Batch& batch, std::int64_t size, std::int64_t length) {
    const std::size_t cells = static_cast<std::size_t>(size * length);
    batch.tokens.length = length;
    batch.tokens.ids.resize(cells);
    batch.tokens.lengths.assign(static_cast<std::size_t>(size), length);
    batch.targets.resize(cells);
}

SequenceSlot slot_of(Batch& batch, std::int64_t sequence) {
    const std::size_t length = static_cast<std::size_t>(batch.tokens.length), first = static_cast<std::size_t>(sequence) * length;
    return {std::span(batch.tokens.ids).subspan(first, length), std::span(batch.targets).subspan(first, length)};
}

/// One more sequence in as many positions as those before it have.
void append(Batch& batch, const SequenceSlot& slot, std::int64_t positions, std::int64_t tokens) {
    const auto count = static_cast<std::ptrdiff_t>(positions);
    batch.tokens.length = positions;
    batch.tokens.lengths.push_back(tokens);
    batch.tokens.ids.insert(batch.tokens.ids.end(), slot.tokens.begin(), slot.tokens.begin() + count);
    batch.targets.insert(batch.targets.end(), slot.targets.begin(), slot.targets.begin() + count);
}

}  // namespace

bool is_held_out(std::span<const std::int32_t> content, std::uint64_t seed, double share) {
    std::uint64_t hash = seed;
    for (const std::int32_t id : content) hash = CounterRandom(hash, static_cast<std::uint64_t>(id)).bits(0);
    return CounterRandom(hash, content.size()).uniform(0) < share;
}

Dataset::Dataset(const TaskSettings& settings, std::uint64_t seed)
    : source_(make_source(settings, CounterRandom(seed, kDataStream).bits(0))), tokenizer_(source_->tokenizer()),
      seed_(CounterRandom(seed, kDataStream).bits(1)), length_(source_->length()) {
    resize(validation_, source_->held_out(), length_);
    std::map<std::int64_t, HeldOutLength> by_length;
    for (std::int64_t i = 0; i < source_->held_out(); ++i) {
        const SequenceSlot slot = slot_of(validation_, i);
        const SequenceSize size = source_->held_out(i, slot);
        validation_.tokens.lengths[static_cast<std::size_t>(i)] = size.tokens;
        by_length[size.length].length = size.length;
        // Sequences of one length need no padding; where no length is told apart, they are as long as it happens.
        append(by_length[size.length].batch, slot, size.length > 0 ? size.tokens : length_, size.tokens);
    }
    for (auto& [length, held_out] : by_length) by_length_.push_back(std::move(held_out));
    probe_ = tokenizer_.decode(probe_batch().ids);
}

Dataset::~Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;

void Dataset::training_batch(std::int64_t step, std::int64_t size, Batch& batch) const {
    if (step < 0 || size < 1 || size >= std::int64_t{1} << kSequenceBits)
        throw ConfigError("there is no batch of " + std::to_string(size) + " sequences for step " + std::to_string(step));
    resize(batch, size, length_);
    for (std::int64_t b = 0; b < size; ++b) {
        Draws draws(seed_, static_cast<std::uint64_t>(step) << kSequenceBits | static_cast<std::uint64_t>(b));
        batch.tokens.lengths[static_cast<std::size_t>(b)] = source_->draw(draws, slot_of(batch, b)).tokens;
    }
}

TokenBatch Dataset::probe_batch() const {
    const auto first = validation_.tokens.ids.begin();
    const std::int64_t length = validation_.tokens.lengths.front();
    return {length, {first, first + length}, {length}};
}

}  // namespace attn
