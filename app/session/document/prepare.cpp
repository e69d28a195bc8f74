#include "app/session/document/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "app/session/document/document_error.hpp"
#include "app/session/states/places_in_use.hpp"
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
constexpr std::string_view kWhiteSpace = " \t\n\r";
/// It fills up shorter texts. No number depends on it.
constexpr std::int32_t kPadId = 0;

bool has_source(const Setup& setup) { return setup.config.architecture == Architecture::EncoderDecoder; }

void expect_at_most(std::size_t limit, std::size_t bytes, const char* what) {
    if (bytes <= limit) return;
    throw DocumentError(fmt::format("the {} {} KiB long; at most {} KiB can be shown", what, (bytes + 1023) >> 10, limit >> 10),
                        Field::Texts);
}

std::shared_ptr<const TextModel> text_model_for(const Setup& setup, KeptTokenizer& kept) {
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
    std::vector<std::int64_t> left_out{};  ///< tokens at the beginning of each that the model has no room for; empty: none
};

/// "the digits and + : , =", "26 characters" or "80 words".
std::string symbols_known(const TextModel& model) {
    constexpr std::string_view kDigits = "0123456789", kLetters = "abcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t kMostListed = 8;
    std::vector<std::string> rest(model.vocabulary().begin(), model.vocabulary().end());
    std::string words;
    for (const auto& [run, name] : {std::pair(kDigits, "the digits"), std::pair(kLetters, "the letters a to z")}) {
        const auto is_of_run = [all = run](const std::string& symbol) {
            return symbol.size() == 1 && all.find(symbol) != std::string_view::npos;
        };
        if (static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), is_of_run)) != run.size()) continue;
        std::erase_if(rest, is_of_run);
        words += (words.empty() ? "" : " and ") + std::string(name);
    }
    if (rest.size() > kMostListed) return fmt::format("{} {}s", model.vocabulary().size(), model.conventions().token);
    for (std::size_t i = 0; i < rest.size(); ++i) words += (i > 0 ? " " : words.empty() ? "" : " and ") + escaped(rest[i]);
    return words;
}

/// The first symbols in a row that are not in the vocabulary, such as a word; a space if nothing else is unknown. "" if all are known.
std::string_view unknown_part(const TextModel& model, TokenizerKind kind, const std::string& text) {
    const std::vector<std::string>& known = model.vocabulary();
    std::string_view space;
    std::size_t begin = 0, end = 0;
    for (const TextToken& token : Tokenizer(kind, std::span(&text, 1), false).encode(text)) {
        const std::string_view symbol = std::string_view(text).substr(token.begin, token.end - token.begin);
        const bool white = symbol.find_first_not_of(kWhiteSpace) == std::string_view::npos;
        const bool unknown = std::find(known.begin(), known.end(), symbol) == known.end();
        if (unknown && white && end == 0) space = symbol;
        if (end > 0 && (!unknown || white || token.begin != end)) break;
        if (!unknown || white) continue;
        if (end == 0) begin = token.begin;
        end = token.end;
    }
    return end > 0 ? std::string_view(text).substr(begin, end - begin) : space;
}

/// Only a fixed vocabulary of symbols can lack one. It is refused, since a trained model has learned nothing about it.
void expect_known_symbols(const TextModel& model, TokenizerKind kind, const std::string& text, Field field) {
    const bool fixed = !model.conventions().pieces && model.places() == 0 && kind != TokenizerKind::Bpe;
    const std::string_view unknown = fixed ? unknown_part(model, kind, text) : "";
    if (!unknown.empty())
        throw DocumentError(fmt::format("this model knows only {}; “{}” is not among them", symbols_known(model), escaped(unknown)), field);
}

/// Tokenizes all texts of one stack.
Encoded encode_all(const TextModel& model, TokenizerKind kind, const std::vector<std::string>& texts, Reader reader, Field field) {
    Encoded encoded{texts, {}, 0};
    for (const std::string& text : texts) {
        auto& tokens = encoded.sequences.emplace_back();
        try {
            tokens = model.tokens_of(text, reader);
        } catch (const ConfigError& error) {
            expect_known_symbols(model, kind, text, field);
            throw DocumentError(error.what(), field);
        }
        const bool unknown = std::any_of(tokens.begin(), tokens.end(), [](const TextToken& token) { return token.unknown; });
        if (unknown) expect_known_symbols(model, kind, text, field);
        encoded.longest = std::max(encoded.longest, static_cast<std::int64_t>(tokens.size()));
    }
    return encoded;
}

/// The bundled models of words and characters read the end of a text that is too long for them.
void leave_out_beginnings(Encoded& encoded, const Setup& setup) {
    const std::int64_t most = setup.config.longest_text();
    if (setup.shipped == nullptr || setup.config.architecture != Architecture::DecoderOnly || most <= 0 || encoded.longest <= most) return;
    for (std::vector<TextToken>& tokens : encoded.sequences) {
        const std::int64_t excess = std::max<std::int64_t>(std::ssize(tokens) - most, 0);
        tokens.erase(tokens.begin(), tokens.begin() + excess);
        encoded.left_out.push_back(excess);
    }
    encoded.longest = most;
}

/// Generated tokens follow their text unchanged, without re-tokenizing.
void append_written(Encoded& encoded, const Written& written, const TextModel& model) {
    if (written.ids.empty()) return;
    if (written.sequence < 0 || written.sequence >= static_cast<std::int64_t>(encoded.sequences.size()))
        throw DocumentError(
            fmt::format("what was written continues text {}, but there are only {}", written.sequence + 1, encoded.sequences.size()),
            Field::Texts);
    auto& tokens = encoded.sequences[static_cast<std::size_t>(written.sequence)];
    const std::size_t vocabulary = model.vocabulary().size();
    for (const std::int32_t id : written.ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= vocabulary)
            throw DocumentError(fmt::format("a written token has id {}, but the model has only {} ids", id, vocabulary), Field::Texts);
        tokens.push_back({id, false, false, 0, 0, model.place_of(id)});
    }
    encoded.longest = std::max(encoded.longest, static_cast<std::int64_t>(tokens.size()));
}

/// The texts that the encoder of an encoder-decoder reads.
Encoded encode_source(const TextModel& model, const Setup& setup) {
    static const std::vector<std::string> kNoTexts;
    if (!has_source(setup)) return {kNoTexts, {}, 0};
    Encoded encoded = encode_all(model, setup.tokenizer, setup.source_texts, Reader::Model, Field::SourceTexts);
    if (encoded.longest == 0) throw DocumentError("type some text for the encoder", Field::SourceTexts);
    if (encoded.texts.size() == setup.texts.size()) return encoded;
    throw DocumentError(fmt::format("the encoder has {} text{}, the decoder {}: every text needs both", encoded.texts.size(),
                                    encoded.texts.size() == 1 ? "" : "s", setup.texts.size()),
                        Field::SourceTexts);
}

// Powers of two, so that typing one more word rarely changes the model.
std::int64_t derived_context(std::int64_t longest) {
    std::int64_t context = 64;
    while (context < longest) context *= 2;
    return context;
}

/// With the sizes that follow from the texts, if it is one of ours.
Config config_for(const Setup& setup, std::size_t vocabulary, std::int64_t longest) {
    Config config = setup.config;
    config.vocab_size = static_cast<std::int64_t>(vocabulary);
    if (config.context_length == 0) config.context_length = derived_context(longest);
    try {
        validate(config);
    } catch (const ConfigError& error) {
        throw DocumentError(error.what(), field_at_fault(config));
    }
    if (longest > config.longest_text())
        throw DocumentError(
            fmt::format("the text has {} tokens, but the context length is {}: shorten the text", longest, config.longest_text()),
            Field::ContextLength);
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

/// Symbols appear as typed, pieces as in the vocabulary: part of a character, "##ing". So do tokens that have no place in the typed text:
/// generated ones, and those that a template adds. A word that is known in another case appears as the known one.
std::vector<std::vector<Token>> chips_of(const TextModel& model, const Encoded& encoded) {
    std::vector<std::vector<Token>> chips;
    for (std::size_t b = 0; b < encoded.sequences.size(); ++b) {
        std::vector<Token>& row = chips.emplace_back();
        for (const TextToken& token : encoded.sequences[b]) {
            const bool typed = !model.conventions().pieces && token.begin < token.end;
            const std::string& known = model.vocabulary().at(static_cast<std::size_t>(token.id));
            std::string text = typed ? encoded.texts[b].substr(token.begin, token.end - token.begin) : known;
            Token& chip = row.emplace_back(Token{std::move(text), token.id, false, token.unknown, token.place});
            if (model.places() > 0 && token.place == 0 && chip.text != known) chip.typed = std::exchange(chip.text, known);
        }
        row.resize(static_cast<std::size_t>(encoded.longest), Token{"<pad>", kPadId, true, false});
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

Prepared prepare(const Setup& setup, double room_mib, KeptTokenizer* kept) {
    expect_short_texts(setup);
    KeptTokenizer own;
    const std::shared_ptr<const TextModel> model = text_model_for(setup, kept != nullptr ? *kept : own);
    Encoded text = encode_all(*model, setup.tokenizer, setup.texts, has_source(setup) ? Reader::Decoder : Reader::Model, Field::Texts);
    leave_out_beginnings(text, setup);
    append_written(text, setup.written, *model);
    if (text.longest == 0) throw DocumentError("type some text", Field::Texts);
    const Encoded source = encode_source(*model, setup);

    Prepared prepared;
    prepared.vocabulary = model->vocabulary();
    prepared.config = config_for(setup, model->vocabulary().size(), std::max(text.longest, source.longest));
    prepared.tokens = make_batch(text.sequences, kPadId);
    prepared.tokens.segments = model->segments_of(prepared.tokens);
    const bool mapped = setup.model != nullptr;  // its parameters are read from a file
    measure(prepared, text, source, setup.forward, mapped, room_mib);
    if (has_source(setup)) prepared.source = make_batch(source.sequences, kPadId);
    prepared.chips = chips_of(*model, text);
    prepared.left_out = std::move(text.left_out);
    prepared.source_chips = chips_of(*model, source);
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
    const bool fixed = !setup.model && !setup.vocabulary.empty();
    if (fixed && !has_places(setup.vocabulary)) return setup.vocabulary;  // which takes no tokenizer
    KeptTokenizer own;
    return text_model_for(setup, own)->vocabulary();
}

std::shared_ptr<const Parameters<float>> parameters_for(const Setup& setup, const Config& prepared,
                                                        const std::shared_ptr<const Parameters<float>>& trained) {
    Config whole = prepared;
    if (has_places(setup.vocabulary)) whole.vocab_size = static_cast<std::int64_t>(setup.vocabulary.size());
    if (trained->config() != whole) throw DocumentError("these settings differ from the trained model's", Field::None);
    return with_places_in_use(trained, prepared.vocab_size);
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
