#include "engine/tasks/dataset.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engine/tasks/given_words.hpp"
#include "engine/tasks/sequence_source.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

/// Random streams of the data, separate from those of parameters and dropout.
constexpr std::uint64_t kDataStream = 0x64617461;
constexpr int kSequenceBits = 20;  // low bits of a stream's number; the rest is the step

/// A text is read in the words at once; the symbols of every other task are looked up among them.
std::unique_ptr<const SequenceSource> make_own_source(const TaskSettings& settings, std::uint64_t seed, GivenWords words) {
    switch (settings.kind) {
    case TaskKind::Addition:
        return make_addition_source(settings, seed);
    case TaskKind::Text:
        return make_text_source(settings, words);
    case TaskKind::Sum:
        return make_sum_source(settings, seed);
    case TaskKind::Stories:
        return make_story_source(settings, seed);
    case TaskKind::FillIn:
        return make_fill_in_source(settings, seed);
    case TaskKind::Translate:
        return make_translation_source(settings, seed);
    default:
        return make_symbol_source(settings, seed);
    }
}

std::unique_ptr<const SequenceSource> make_source(const TaskSettings& settings, std::uint64_t seed, GivenWords words) {
    validate(settings);
    std::unique_ptr<const SequenceSource> source = make_own_source(settings, seed, words);
    return words.empty() || settings.kind == TaskKind::Text ? std::move(source) : in_words(std::move(source), words);
}

void resize(TokenBatch& batch, std::int64_t size, std::int64_t length) {
    batch.length = length;
    batch.ids.resize(static_cast<std::size_t>(size * length));
    batch.lengths.assign(static_cast<std::size_t>(size), length);
}

void resize(Batch& batch, std::int64_t size, const SequenceSource& source) {
    resize(batch.tokens, size, source.length());
    batch.targets.resize(batch.tokens.ids.size());
    if (source.source_length() > 0) resize(batch.source, size, source.source_length());
}

std::span<std::int32_t> row_of(std::vector<std::int32_t>& values, std::int64_t length, std::int64_t row) {
    return std::span(values).subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length));
}

SequenceSlot slot_of(Batch& batch, std::int64_t sequence) {
    const std::int64_t length = batch.tokens.length;
    return {row_of(batch.tokens.ids, length, sequence), row_of(batch.targets, length, sequence),
            row_of(batch.source.ids, batch.source.length, sequence)};
}

void set_size(Batch& batch, std::int64_t sequence, const SequenceSize& size) {
    batch.tokens.lengths[static_cast<std::size_t>(sequence)] = size.tokens;
    if (batch.source.length > 0) batch.source.lengths[static_cast<std::size_t>(sequence)] = size.source;
}

/// Appends a sequence, cut to `positions` positions; its source is not cut.
void append(Batch& batch, const SequenceSlot& slot, std::int64_t positions, const SequenceSize& size) {
    const auto count = static_cast<std::ptrdiff_t>(positions);
    batch.tokens.length = positions;
    batch.tokens.lengths.push_back(size.tokens);
    batch.tokens.ids.insert(batch.tokens.ids.end(), slot.tokens.begin(), slot.tokens.begin() + count);
    batch.targets.insert(batch.targets.end(), slot.targets.begin(), slot.targets.begin() + count);
    if (slot.source.empty()) return;
    batch.source.length = static_cast<std::int64_t>(slot.source.size());
    batch.source.lengths.push_back(size.source);
    batch.source.ids.insert(batch.source.ids.end(), slot.source.begin(), slot.source.end());
}

TokenBatch first_of(const TokenBatch& batch) {
    if (batch.lengths.empty()) return {};
    const std::int64_t length = batch.lengths.front();
    return {length, {batch.ids.begin(), batch.ids.begin() + length}, {length}};
}

}  // namespace

bool is_held_out(std::span<const std::int32_t> content, std::uint64_t seed, double share) {
    std::uint64_t hash = seed;
    for (const std::int32_t id : content) hash = CounterRandom(hash, static_cast<std::uint64_t>(id)).bits(0);
    return CounterRandom(hash, content.size()).uniform(0) < share;
}

bool is_pair_held_out(std::int32_t a, std::int32_t b, std::uint64_t seed, double share) {
    const std::array<std::int32_t, 2> content = {std::min(a, b), std::max(a, b)};
    return is_held_out(content, seed, share);
}

Dataset::Dataset(const TaskSettings& settings, std::uint64_t seed, GivenWords words)
    : source_(make_source(settings, CounterRandom(seed, kDataStream).bits(0), words)), tokenizer_(source_->tokenizer()),
      seed_(CounterRandom(seed, kDataStream).bits(1)), length_(source_->length()), source_length_(source_->source_length()) {
    resize(validation_, source_->held_out(), *source_);
    std::map<std::int64_t, HeldOutLength> by_length;
    for (std::int64_t i = 0; i < source_->held_out(); ++i) {
        const SequenceSlot slot = slot_of(validation_, i);
        const SequenceSize size = source_->held_out(i, slot);
        set_size(validation_, i, size);
        by_length[size.length].length = size.length;
        // Sequences of one length need no padding; if lengths are not distinguished, they are padded to the full length.
        append(by_length[size.length].batch, slot, size.length > 0 ? size.tokens : length_, size);
    }
    for (auto& [length, held_out] : by_length) by_length_.push_back(std::move(held_out));
    const Batch probe = probe_batch();
    probe_ = tokenizer_.decode(probe.tokens.ids);
    probe_source_ = tokenizer_.decode(probe.source.ids);
}

Dataset::~Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;

void Dataset::training_batch(std::int64_t step, std::int64_t size, Batch& batch) const {
    if (step < 0 || size < 1 || size >= std::int64_t{1} << kSequenceBits)
        throw ConfigError("there is no batch of " + std::to_string(size) + " sequences for step " + std::to_string(step));
    resize(batch, size, *source_);
    for (std::int64_t b = 0; b < size; ++b) {
        Draws draws(seed_, static_cast<std::uint64_t>(step) << kSequenceBits | static_cast<std::uint64_t>(b));
        set_size(batch, b, source_->draw(draws, slot_of(batch, b)));
    }
}

Batch Dataset::probe_batch() const {
    const auto targets = validation_.targets.begin();
    return {first_of(validation_.tokens), {targets, targets + validation_.tokens.lengths.front()}, first_of(validation_.source)};
}

}  // namespace attn
