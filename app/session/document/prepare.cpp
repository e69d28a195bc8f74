#include "app/session/document/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/session/document/document_error.hpp"
#include "app/session/states/model_tokens.hpp"
#include "engine/io/file_error.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/plan/plan.hpp"
#include "engine/plan/stage_shape.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::app {

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

bool has_source(const Setup& setup) { return setup.config.architecture == Architecture::EncoderDecoder; }

void expect_at_most(std::size_t limit, std::size_t bytes, const char* what) {
    if (bytes <= limit) return;
    throw DocumentError(fmt::format("the {} {} KiB long; at most {} KiB can be shown", what, (bytes + 1023) >> 10, limit >> 10),
                        Field::Texts);
}

const Tokenizer& tokenizer_of(const Setup& setup, KeptTokenizer& kept) {
    try {
        return kept.of(setup);
    } catch (const ConfigError& error) {
        throw DocumentError(error.what(), Field::Texts);
    }
}

/// Tokenized texts, before padding to the longest.
struct Encoded {
    const std::vector<std::string>& texts;
    std::vector<std::vector<TextToken>> sequences;
    std::int64_t longest = 0;
};

/// Only a fixed vocabulary can lack a symbol. It is refused, since a trained model has learned nothing about it.
std::vector<TextToken> known_symbols(const Tokenizer& tokenizer, const std::string& text, Field field) {
    std::vector<TextToken> tokens;
    std::string unknown;
    try {
        tokens = tokenizer.encode(text);
    } catch (const ConfigError& error) {
        throw DocumentError(error.what(), field);
    }
    for (const TextToken& token : tokens) {
        if (!token.unknown) continue;
        throw DocumentError(fmt::format("\"{}\" (byte {} of the text) is not among the {} symbols that the model was trained on",
                                        escaped(text.substr(token.begin, token.end - token.begin)), token.begin, tokenizer.size()),
                            field);
    }
    return tokens;
}

/// Generated tokens follow their text unchanged, without re-tokenizing.
void append_written(Encoded& encoded, const Written& written, std::int64_t vocabulary) {
    if (written.ids.empty()) return;
    if (written.sequence < 0 || written.sequence >= static_cast<std::int64_t>(encoded.sequences.size()))
        throw DocumentError(
            fmt::format("what was written continues text {}, but there are only {}", written.sequence + 1, encoded.sequences.size()),
            Field::Texts);
    auto& tokens = encoded.sequences[static_cast<std::size_t>(written.sequence)];
    for (const std::int32_t id : written.ids) {
        if (id < 0 || id >= vocabulary)
            throw DocumentError(fmt::format("a written token has id {}, but the model has only {} ids", id, vocabulary), Field::Texts);
        tokens.push_back({id, false, false, 0, 0});
    }
    encoded.longest = std::max(encoded.longest, static_cast<std::int64_t>(tokens.size()));
}

/// Generated tokens have no place in the typed text, so their chips show the vocabulary's text.
void show_written(const Encoded& text, const Written& written, const SharedWords& vocabulary, std::vector<std::vector<Token>>& chips) {
    if (written.ids.empty()) return;
    const auto b = static_cast<std::size_t>(written.sequence);
    const std::size_t first = text.sequences[b].size() - written.ids.size();
    for (std::size_t i = 0; i < written.ids.size(); ++i) chips[b][first + i].text = vocabulary.at(static_cast<std::size_t>(written.ids[i]));
}

/// Tokenizes all texts of one stack. In an encoder-decoder, decoder texts begin with the decoder start token.
Encoded encode_all_for(const OpenedModel& model, const std::vector<std::string>& texts, Field field) {
    const bool writes = model.config().architecture == Architecture::EncoderDecoder && field == Field::Texts;
    const Reader reader = writes ? Reader::Decoder : Reader::Model;
    Encoded encoded{texts, {}, 0};
    try {
        for (const std::string& text : texts) {
            const auto& tokens = encoded.sequences.emplace_back(tokens_for(model, text, reader));
            encoded.longest = std::max(encoded.longest, static_cast<std::int64_t>(tokens.size()));
        }
    } catch (const ConfigError& error) {
        throw DocumentError(error.what(), field);
    }
    return encoded;
}

/// Shows the model's own pieces: part of a character, "##ing", or a token added by the template.
void show_pieces(const std::vector<std::string>& vocabulary, const Encoded& text, std::vector<std::vector<Token>>& chips) {
    for (std::size_t b = 0; b < text.sequences.size(); ++b)
        for (std::size_t t = 0; t < text.sequences[b].size(); ++t)
            chips[b][t].text = vocabulary.at(static_cast<std::size_t>(text.sequences[b][t].id));
}

/// Every decoder text needs an encoder text.
void expect_as_many_sources(const Encoded& encoded, const Setup& setup) {
    if (encoded.texts.size() == setup.texts.size()) return;
    throw DocumentError(fmt::format("the encoder has {} text{}, the decoder {}: every text needs both", encoded.texts.size(),
                                    encoded.texts.size() == 1 ? "" : "s", setup.texts.size()),
                        Field::SourceTexts);
}

Encoded encode(const Tokenizer& tokenizer, const std::vector<std::string>& texts, Field field, const char* when_empty) {
    Encoded encoded{texts, {}, 0};
    for (const std::string& text : texts) {
        const auto& tokens = encoded.sequences.emplace_back(known_symbols(tokenizer, text, field));
        encoded.longest = std::max(encoded.longest, static_cast<std::int64_t>(tokens.size()));
    }
    if (encoded.longest == 0) throw DocumentError(when_empty, field);
    return encoded;
}

Encoded encode_source(const Tokenizer& tokenizer, const Setup& setup) {
    if (!has_source(setup)) {
        static const std::vector<std::string> kNoTexts;
        return {kNoTexts, {}, 0};
    }
    Encoded encoded = encode(tokenizer, setup.source_texts, Field::SourceTexts, "type some text for the encoder");
    expect_as_many_sources(encoded, setup);
    return encoded;
}

// Powers of two, so that typing one more word rarely changes the model.
std::int64_t derived_context(std::int64_t longest) {
    std::int64_t context = 64;
    while (context < longest) context *= 2;
    return context;
}

void expect_to_fit(const Config& config, std::int64_t longest, const char* remedy) {
    if (longest <= config.longest_text()) return;
    throw DocumentError(fmt::format("the text has {} tokens, but the context length is {}: {}", longest, config.longest_text(), remedy),
                        Field::ContextLength);
}

Config derived_config(const Setup& setup, std::int64_t vocab_size, std::int64_t longest) {
    Config config = setup.config;
    config.vocab_size = vocab_size;
    if (config.context_length == 0) config.context_length = derived_context(longest);
    try {
        validate(config);
    } catch (const ConfigError& error) {
        throw DocumentError(error.what(), field_at_fault(config));
    }
    expect_to_fit(config, longest, "shorten the text");
    return config;
}

/// The least that must be held at once: an outline and one part, or all stages if that is less; and parameters that are in no file.
double least_mib(const TraceSize& size) { return size.parameters + std::min(size.whole, size.outline + size.part); }

// Checks the memory that the trace needs before anything of that size is allocated. `mapped`: the parameters are read from a file.
void measure(Prepared& prepared, const Encoded& text, const Encoded& source, const ForwardSettings& forward, bool mapped, double room_mib) {
    const Config& config = prepared.config;
    const bool in_rows = can_compute_in_rows(config, prepared.tokens, forward);
    const auto held = [mapped](TraceSize size) {
        if (mapped) size.parameters = 0;
        return size;
    };
    prepared.size = held(trace_size(config, static_cast<double>(text.texts.size()), static_cast<double>(text.longest),
                                    static_cast<double>(source.longest), in_rows));
    try {
        expect_room(least_mib(prepared.size), room_mib);
        prepared.whole =
            prepared.size.weights + prepared.size.whole <= kWholeTraceMiB && prepared.size.parameters + prepared.size.whole <= room_mib;
    } catch (const DocumentError& error) {
        const bool short_text_fits = least_mib(held(trace_size(config, 1, 16, source.longest == 0 ? 0 : 16))) <= room_mib;
        const char* const otherwise = mapped ? "allow more memory under Model in the settings" : "make the model smaller";
        throw DocumentError(fmt::format("{} (sequences: {}, tokens: {}, layers: {}, heads: {}, d_model: {}): {}", error.what(),
                                        text.texts.size(), std::max(text.longest, source.longest), config.num_layers, config.num_heads,
                                        config.d_model, short_text_fits ? "shorten the text" : otherwise),
                            short_text_fits ? Field::Texts : Field::DModel);
    }
}

std::vector<std::vector<Token>> chips_of(const Encoded& encoded, std::int32_t pad_id) {
    std::vector<std::vector<Token>> chips;
    for (std::size_t b = 0; b < encoded.sequences.size(); ++b) {
        std::vector<Token>& row = chips.emplace_back();
        for (const TextToken& token : encoded.sequences[b]) {
            row.push_back({encoded.texts[b].substr(token.begin, token.end - token.begin), token.id, false, token.unknown});
        }
        row.resize(static_cast<std::size_t>(encoded.longest), Token{"<pad>", pad_id, true, false});
    }
    return chips;
}

/// How many numbers a stage's tensor has for one sequence.
double stage_numbers(const Config& config, const PlanNode& node, double positions, double source_positions) {
    const double own = node.id.stack == Stack::Encoder ? source_positions : positions;
    double numbers = 1;
    for (const Axis axis : node.axes) {
        if (axis == Axis::T) numbers *= own;
        else if (axis == Axis::S) numbers *= node.id.attention == kCrossAttention ? source_positions : own;
        else if (axis != Axis::B) numbers *= static_cast<double>(axis_size(config, node, axis));
    }
    return numbers;
}

}  // namespace

double most_beside_model_mib(double parameters_mib) {
    constexpr double kLeast = 32, kShare = 1.0 / 16;
    return std::max(kLeast, kShare * parameters_mib);
}

void expect_room(double mib, double room_mib) {
    if (!(mib <= room_mib))
        throw DocumentError(
            fmt::format("this would take {:.0f} MiB, but the memory budget leaves {:.0f} MiB; set more under Model, or with --memory",
                        std::ceil(mib), std::floor(std::max(room_mib, 0.0))),
            Field::None);
}

void expect_short_texts(const Setup& setup) {
    expect_at_most(kTextLimitBytes, text_bytes(setup), "text is");
    expect_at_most(kVocabularyTextLimitBytes, bytes_of(setup.vocabulary_texts), "texts of the vocabulary are");
}

namespace {

Prepared prepare_for(const OpenedModel& model, const Setup& setup, double room_mib) {
    static const std::vector<std::string> kNoTexts;
    Encoded text = encode_all_for(model, setup.texts, Field::Texts);
    append_written(text, setup.written, model.config().vocab_size);
    if (text.longest == 0) throw DocumentError("type some text", Field::Texts);
    const bool reads = model.config().architecture == Architecture::EncoderDecoder;
    const Encoded source = encode_all_for(model, reads ? setup.source_texts : kNoTexts, Field::SourceTexts);
    if (reads) expect_as_many_sources(source, setup);
    if (reads && source.longest == 0) throw DocumentError("type some text for the encoder", Field::SourceTexts);
    Prepared prepared;
    prepared.config = model.config();
    expect_to_fit(prepared.config, std::max(text.longest, source.longest), "shorten the text");
    prepared.tokens = make_batch(text.sequences, 0);
    prepared.tokens.segments = segments_for(model, prepared.tokens);
    measure(prepared, text, source, setup.forward, setup.model != nullptr, room_mib);
    prepared.chips = chips_of(text, 0);
    show_pieces(model.vocabulary(), text, prepared.chips);
    if (reads) {
        prepared.source = make_batch(source.sequences, 0);
        prepared.source_chips = chips_of(source, 0);
        show_pieces(model.vocabulary(), source, prepared.source_chips);
    }
    prepared.vocabulary = model.vocabulary();
    return prepared;
}

}  // namespace

Prepared prepare(const Setup& setup, double room_mib, KeptTokenizer* kept) {
    expect_short_texts(setup);
    if (setup.model != nullptr) return prepare_for(*setup.model, setup, room_mib);
    KeptTokenizer own;
    const Tokenizer& tokenizer = tokenizer_of(setup, kept != nullptr ? *kept : own);
    Encoded text = encode(tokenizer, setup.texts, Field::Texts, "type some text");
    append_written(text, setup.written, tokenizer.size());
    const Encoded source = encode_source(tokenizer, setup);

    Prepared prepared;
    prepared.config = derived_config(setup, tokenizer.size(), std::max(text.longest, source.longest));
    prepared.tokens = make_batch(text.sequences, tokenizer.pad_id());
    measure(prepared, text, source, setup.forward, setup.model != nullptr, room_mib);
    prepared.chips = chips_of(text, tokenizer.pad_id());
    if (tokenizer.kind() == TokenizerKind::Bpe) show_pieces(tokenizer.vocabulary(), text, prepared.chips);
    if (has_source(setup)) {
        prepared.source = make_batch(source.sequences, tokenizer.pad_id());
        prepared.source_chips = chips_of(source, tokenizer.pad_id());
    }
    prepared.vocabulary = tokenizer.vocabulary();
    show_written(text, setup.written, prepared.vocabulary, prepared.chips);
    return prepared;
}

void expect_room_for_parts(const Setup& setup, double room_mib, const std::optional<StageId>& only) {
    const Prepared prepared = prepare(setup, room_mib);
    const Plan plan(prepared.config);
    if (prepared.whole || (only && plan.find(*only) == nullptr)) return;
    const auto positions = static_cast<double>(prepared.tokens.length), of_source = static_cast<double>(prepared.source.length);
    for (std::size_t i = 0; i < plan.nodes().size();) {
        const PlanPart part = plan.part_around(only ? *only : plan.nodes()[i].id);
        double numbers = 0;
        for (std::size_t node = part.first; node < part.end; ++node)
            numbers += stage_numbers(prepared.config, plan.nodes()[node], positions, of_source);
        expect_room(4 * numbers * static_cast<double>(prepared.tokens.size()) / kMiB, room_mib);
        i = only ? plan.nodes().size() : part.end;
    }
}

bool can_prepare(const Setup& setup, double room_mib) {
    try {
        prepare(setup, room_mib);
        return true;
    } catch (const Error&) {
        return false;
    }
}

SharedWords vocabulary_of(const Setup& setup) {
    KeptTokenizer own;
    return setup.vocabulary.empty() ? tokenizer_of(setup, own).vocabulary() : setup.vocabulary;
}

TraceSize trace_size(const Config& config, double sequences, double positions, double source_positions, bool in_rows) {
    const Plan plan(config);
    const auto mib = [&](const PlanNode& node) { return 4 * sequences * stage_numbers(config, node, positions, source_positions) / kMiB; };
    TraceSize size;
    size.weights = size.parameters = 4 * static_cast<double>(ParameterLayout(config).count()) / kMiB;
    for (std::size_t i = 0; i < plan.nodes().size();) {
        double part = 0, maps = 0;
        for (const std::size_t end = plan.part_around(plan.nodes()[i].id).end; i < end; ++i)
            (in_rows && is_attention_map(plan.nodes()[i].id.stage) ? maps : part) += mib(plan.nodes()[i]);
        size.whole += part + maps;
        size.part = std::max(size.part, part);
    }
    const auto mib_of = [&](const std::vector<StageId>& stages) {
        return std::accumulate(stages.begin(), stages.end(), 0.0, [&](double sum, const StageId& id) { return sum + mib(plan.at(id)); });
    };
    const double streams = mib_of(outline_stages(plan, false)), all = mib_of(outline_stages(plan));
    size.attended = all - streams <= most_beside_model_mib(size.weights);
    size.outline = size.attended ? all : streams;
    return size;
}

Field field_at_fault(const Config& config) {
    struct Repair {
        Field field;
        void (*apply)(Config&);
    };
    static constexpr std::array<Repair, 9> kRepairs{{
        {Field::DModel, [](Config& c) { c.d_model = 8 * std::clamp<std::int64_t>(c.num_heads, 1, 64); }},
        {Field::Heads, [](Config& c) { c.num_heads = 1; }},
        {Field::KeyHeads, [](Config& c) { c.num_kv_heads = 0; }},
        {Field::HeadSize, [](Config& c) { c.d_head = 0; }},
        {Field::RotaryBase, [](Config& c) { c.rotary_base = 10000; }},
        {Field::Layers, [](Config& c) { c.num_layers = 1; }},
        {Field::FeedForward, [](Config& c) { c.d_ff = 8; }},
        {Field::ContextLength, [](Config& c) { c.context_length = 64; }},
        {Field::LayerNormEps, [](Config& c) { c.layer_norm_eps = 1e-5; }},
    }};
    const auto valid = [](const Config& candidate) {
        try {
            validate(candidate);
            return true;
        } catch (const ConfigError&) {
            return false;
        }
    };
    if (valid(config)) return Field::None;
    for (const Repair& repair : kRepairs) {
        Config repaired = config;
        repair.apply(repaired);
        if (valid(repaired)) return repair.field;
    }
    return Field::None;
}

Field field_at_fault(const ForwardSettings& settings) {
    const auto is_rate = [](double rate) { return rate >= 0 && rate <= 1; };
    if (settings.masks.window < 0) return Field::Window;
    if (settings.masks.prefix < 0) return Field::Prefix;
    if (settings.masks.block < 0) return Field::Block;
    for (const PaintedCell& cell : settings.masks.painted)
        if (cell.query < 0 || cell.key < 0) return Field::Painted;
    if (!(settings.temperature > 0 && std::isfinite(settings.temperature))) return Field::Temperature;
    if (!is_rate(settings.dropout.attention)) return Field::AttentionDropout;
    if (!is_rate(settings.dropout.residual)) return Field::ResidualDropout;
    if (!is_rate(settings.dropout.embedding)) return Field::EmbeddingDropout;
    return Field::None;
}

}  // namespace attn::app
