/// attnscope sample: generates text with a trained model.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/commands.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/number_checks.hpp"
#include "app/cli/standard_output.hpp"
#include "app/cli/terminal_text.hpp"
#include "app/cli/text_tokenizer.hpp"
#include "app/cli/trained_example.hpp"
#include "app/cli/training_options.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/session.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/places_in_use.hpp"
#include "engine/generate/generate.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/json.hpp"
#include "engine/io/utf8.hpp"
#include "engine/io/while_intact.hpp"
#include "engine/tasks/task_settings.hpp"
#include "engine/train/checkpoint.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

struct SampleOptions {
    // One of these names the model.
    std::filesystem::path model, document;
    std::string preset;

    std::string prompt, source, mask;
    SamplingSettings sampling;
    bool json = false, ignore_end = false;
};

/// A model with its forward settings, and how one speaks to it.
struct TextWriter {
    std::shared_ptr<const Parameters<float>> parameters;
    ForwardSettings forward;
    std::shared_ptr<const TextModel> text;
    ModelRef file{};                      ///< from which the parameters are read; null for parameters in memory
    std::vector<std::int32_t> written{};  ///< tokens that a document holds after the prompt
    std::vector<std::string> texts{};     ///< whose new words the model reads; none: those of the command line

    const TextConventions& conventions() const { return text->conventions(); }
    const std::string& word(std::int32_t id) const { return text->vocabulary().at(static_cast<std::size_t>(id)); }
};

/// One sequence. `option`: where the text was given, for messages.
TokenBatch batch_of(const TextModel& model, const std::string& text, const char* option, Reader reader = Reader::Model) {
    TokenBatch batch = make_batch(std::array{model.tokens_of(text, reader)}, 0);
    if (batch.ids.empty()) throw Error(fmt::format("{}: expected at least one token, found none in \"{}\"", option, escaped(text)));
    batch.segments = model.segments_of(batch);
    return batch;
}

/// Concatenates generated tokens. `begins`: they are a text of their own, not the continuation of one.
std::string joined(const TextWriter& writer, std::vector<std::int32_t> ids, bool ended, bool begins) {
    if (ended && writer.conventions().is_end(ids.back())) ids.pop_back();
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i > 0) text += writer.conventions().between;
        text += i == 0 && begins ? writer.text->first_text(ids[i]) : writer.word(ids[i]);
    }
    return text;
}

/// The number of alternative candidates listed.
constexpr std::size_t kNamedCandidates = 10;

std::string_view name_of(Cut cut) {
    switch (cut) {
    case Cut::None:
        break;
    case Cut::TopK:
        return "top-k";
    case Cut::TopP:
        return "top-p";
    case Cut::MinP:
        return "min-p";
    case Cut::Temperature:
        return "temperature";
    }
    return "";
}

/// A token's id and text; its bytes, too, if they are not whole characters, since JSON cannot hold them as text.
Json token_json(const TextWriter& writer, std::int32_t id) {
    const std::string& text = writer.word(id);
    Json json{{"id", id}, {"text", text}};
    if (!find_invalid_utf8(text)) return json;
    Json bytes = Json::list();
    for (const char byte : text) bytes.push_back(static_cast<int>(static_cast<unsigned char>(byte)));
    json["bytes"] = std::move(bytes);
    return json;
}

Json to_json(const TextWriter& writer, const Candidate& candidate) {
    Json json = token_json(writer, candidate.id);
    json["probability"] = candidate.predicted;
    json["chance"] = candidate.chance;
    if (candidate.cut != Cut::None) json["cut"] = std::string(name_of(candidate.cut));
    return json;
}

/// A token with its probability and the candidates that the sampler could have drawn instead.
Json to_json(const TextWriter& writer, const DrawnToken& drawn, const SamplingSettings& sampling) {
    const auto id = static_cast<std::size_t>(drawn.id);
    const Candidates candidates = candidates_of(drawn.logits, sampling, kNamedCandidates);
    Json named = Json::list();
    for (const Candidate& candidate : candidates.likeliest) named.push_back(to_json(writer, candidate));
    Json json = token_json(writer, drawn.id);
    json["probability"] = predicted_shares(drawn.logits)[id];
    json["chance"] = drawn.chances[id];
    json["kept"] = candidates.kept;
    json["candidates"] = std::move(named);
    return json;
}

void print_json(const SampleOptions& options, Json tokens, const std::string& text, std::optional<bool> ended = {}) {
    Json line{{"prompt", options.prompt}, {"text", text}, {"tokens", std::move(tokens)}};
    if (ended) line["ended"] = *ended;
    if (!options.source.empty()) line["source"] = options.source;
    // JSON must be UTF-8: incomplete characters appear as U+FFFD.
    fmt::print("{}\n", json_line(line));
}

TextWriter open_writer(const std::filesystem::path& path) {
    if (OpenedModel::is_in(path)) {
        std::shared_ptr<const OpenedModel> model = open_named_model(path);
        ForwardSettings forward;
        forward.masks.causal = model->config().architecture != Architecture::Encoder;
        return {model->parameters(), forward, {model, &model->text()}, model};
    }
    std::error_code none;
    if (std::filesystem::is_directory(path, none) && !std::filesystem::exists(path / kCheckpointName, none)) {
        refuse_whole_cache(path);
        throw Error(fmt::format("{}: this is neither the folder of a published model, which has a config.json, nor that of a training run, "
                                "which has a {}",
                                escaped(path.native(), 0), kCheckpointName));
    }
    const Checkpoint checkpoint = read_run_checkpoint(folder_of_part(path));
    return {checkpoint.parameters, checkpoint.settings.train.forward, text_model_of(checkpoint)};
}

TextWriter open_example(const std::string& name) {
    const std::shared_ptr<const ShippedModel> model = trained_example(name);
    return {model->checkpoint.parameters, model->checkpoint.settings.train.forward, text_model_of(model->checkpoint)};
}

/// The parameters of a state with all places for new words.
std::shared_ptr<const Parameters<float>> whole_model(const State& state, std::shared_ptr<const Parameters<float>> shown) {
    if (const MomentOfRun* moment = moment_of(state)) return moment->parameters;
    return state.setup->shipped != nullptr ? state.setup->shipped->checkpoint.parameters : std::move(shown);
}

/// The words that the model does not know take their places.
void read_new_words(const SampleOptions& options, TextWriter& writer) {
    if (writer.text->places() == 0) return;
    if (writer.texts.empty()) writer.texts = {options.source, options.prompt};
    writer.text = TextModel::reading(writer.text, writer.texts);
    writer.parameters = with_places_in_use(writer.parameters, static_cast<std::int64_t>(writer.text->vocabulary().size()));
}

/// The model and settings of a document. If the command line gives no text, the document's is continued, with what was written after it.
TextWriter open_document(SampleOptions& options) {
    DocumentOptions named;
    named.document = options.document;
    Session session(
        make_document(named), [] {}, memory_budget_mib(named));
    open_runs_of_document(session, named);
    const std::shared_ptr<const Snapshot> snapshot = session.wait();
    if (!snapshot->problem.empty()) throw Error(snapshot->problem);
    expect_edits_to_apply(named, *snapshot->trace);
    const Setup& setup = *snapshot->state->setup;
    const bool goes_on = options.prompt.empty();
    const std::int64_t text = goes_on ? setup.written.sequence : 0;
    const auto place = static_cast<std::size_t>(text);
    if (goes_on) options.prompt = setup.texts.at(place);
    if (options.source.empty() && !setup.source_texts.empty()) options.source = setup.source_texts.at(place);
    ForwardSettings forward = snapshot->trace->settings;
    forward.edits = edits_of_text(forward.edits, text);
    return {whole_model(*snapshot->state, snapshot->trace->parameters),
            std::move(forward),
            KeptTokenizer().of(setup),
            setup.model,
            goes_on ? setup.written.ids : std::vector<std::int32_t>(),
            goes_on ? texts_read(setup) : std::vector<std::string>()};
}

/// Prints texts of files and models piece by piece, harmless if they go to a terminal.
class Printer {
public:
    void print(std::string_view piece) { put(is_terminal_ ? terminal_.add(piece) : std::string(piece)); }
    void end_line() { put(terminal_.end() + "\n"); }

private:
    static void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

    bool is_terminal_ = ::isatty(STDOUT_FILENO) != 0;
    TerminalText terminal_;
};

/// The mask token as typed.
std::string blank_of(const SampleOptions& options, const TextConventions& conventions) {
    if (!options.mask.empty()) return options.mask;
    if (conventions.ids) throw Error("--mask: this model fills in words, but it has no tokenizer to say which id hides one: name that id");
    return conventions.mask.empty() ? kBlank : conventions.mask;
}

/// Prints the prompt with all masks filled in.
void print_filled_in(const SampleOptions& options, const TextWriter& writer) {
    const TokenBatch prompt = batch_of(*writer.text, options.prompt, "--prompt");
    const std::string mask = blank_of(options, writer.conventions());
    const auto hides = [&](std::int32_t id) { return writer.word(id) == mask; };
    const auto blank = std::find_if(prompt.ids.begin(), prompt.ids.end(), hides);
    if (blank == prompt.ids.end())
        throw Error(fmt::format("--prompt: this model fills in words: expected a {} where one is hidden, found none in \"{}\"", mask,
                                escaped(options.prompt)));
    std::vector<Json> drawn;
    const auto keep = [&](const DrawnToken& token) {
        if (options.json) drawn.push_back(to_json(writer, token, options.sampling));
    };
    const std::vector<std::int32_t> filled =
        while_intact(writer.file, [&] { return fill_in(*writer.parameters, prompt, *blank, writer.forward, options.sampling, keep); });
    if (options.json) {
        Json tokens = Json::list();
        auto next = drawn.begin();
        for (std::size_t at = 0; at < filled.size(); ++at)
            tokens.push_back(hides(prompt.ids[at]) ? std::move(*next++) : token_json(writer, filled[at]));
        return print_json(options, std::move(tokens), writer.text->decode(filled));
    }
    Printer printer;
    printer.print(writer.text->decode(filled));
    printer.end_line();
}

void tell_end(const std::string& word, std::int32_t id, std::size_t written) {
    fmt::print(stderr, "The model ended its text after {} token{} with {} (id {}); --ignore-end continues past it.\n", written,
               written == 1 ? "" : "s", escaped(word), id);
}

/// The last token is drawn but not read.
void tell_forgotten(const Config& config, std::size_t prompt, std::size_t written) {
    const std::int64_t read = static_cast<std::int64_t>(prompt + written) - 1, context = config.longest_text();
    if (written == 0 || read <= context) return;
    fmt::print(stderr, "The text grew beyond the model's context of {} tokens: at the end, the first {} were no longer read.\n", context,
               read - context);
}

/// Prints the prompt and its continuation; for a translation only the answer. Stops at an end token unless they are ignored.
void print_written(SampleOptions options, const TextWriter& writer) {
    const TextConventions& conventions = writer.conventions();
    const bool translates = writer.parameters->config().architecture == Architecture::EncoderDecoder;
    if (translates && options.source.empty())
        throw Error("--source: this model reads a source text besides the one it writes, so give one");
    if (translates && options.prompt.empty()) options.prompt = conventions.answer_begins;
    const bool begins = translates && options.prompt.empty() && writer.written.empty();
    std::vector<std::int32_t> source;
    if (translates) source = batch_of(*writer.text, options.source, "--source").ids;
    std::vector<std::int32_t> prompt = batch_of(*writer.text, options.prompt, "--prompt", translates ? Reader::Decoder : Reader::Model).ids;
    std::string before = translates ? "" : options.prompt;
    for (const std::int32_t id : writer.written) {
        prompt.push_back(id);
        for (std::string* const text : {&before, &options.prompt})
            text->append(text->empty() ? "" : conventions.between).append(writer.word(id));
    }
    const std::vector<std::int32_t> ends = options.ignore_end ? std::vector<std::int32_t>() : conventions.ends_after(source);
    const Prompt given{prompt, source, ends};
    const auto ends_with = [&](std::int32_t id) { return std::find(ends.begin(), ends.end(), id) != ends.end(); };
    if (options.json) {
        Json tokens = Json::list();
        const auto keep = [&](const DrawnToken& drawn) {
            writer.file.require_intact();
            tokens.push_back(to_json(writer, drawn, options.sampling));
        };
        const std::vector<std::int32_t> written =
            while_intact(writer.file, [&] { return generate(*writer.parameters, given, writer.forward, options.sampling, keep); });
        const bool ended = !written.empty() && ends_with(written.back());
        print_json(options, std::move(tokens), joined(writer, written, ended, begins), ended);
        return tell_forgotten(writer.parameters->config(), prompt.size(), written.size());
    }
    bool begun = false;
    Printer printer;
    const auto print = [&](const DrawnToken& drawn) {
        writer.file.require_intact();
        // Print the prompt together with the first token, so that an earlier error prints nothing.
        const bool ends_here = ends_with(drawn.id) && conventions.is_end(drawn.id);
        const std::string word = ends_here ? "" : begins && !begun ? writer.text->first_text(drawn.id) : writer.word(drawn.id);
        printer.print(fmt::format("{}{}{}", begun ? "" : before, begun || !before.empty() ? conventions.between : "", word));
        begun = true;
        flush_output();
    };
    const std::vector<std::int32_t> written =
        while_intact(writer.file, [&] { return generate(*writer.parameters, given, writer.forward, options.sampling, print); });
    if (!begun) printer.print(before);
    printer.end_line();
    flush_output();
    if (!written.empty() && ends_with(written.back()) && conventions.is_end(written.back()))
        tell_end(writer.word(written.back()), written.back(), written.size());
    tell_forgotten(writer.parameters->config(), prompt.size(), written.size());
}

TextWriter open_named(SampleOptions& options) {
    const int named =
        static_cast<int>(!options.model.empty()) + static_cast<int>(!options.preset.empty()) + static_cast<int>(!options.document.empty());
    if (named == 0) throw Error("say which model to use: --model FILE, --preset NAME or --document FILE.json");
    if (named > 1) throw Error("--model, --preset and --document each name a model: give one of them");
    if (!options.document.empty()) return open_document(options);
    return options.preset.empty() ? open_writer(options.model) : open_example(options.preset);
}

void sample(SampleOptions options) {
    require_sampling(options.sampling);
    TextWriter writer = open_named(options);
    read_new_words(options, writer);
    const Architecture architecture = writer.parameters->config().architecture;
    if (architecture != Architecture::EncoderDecoder && !options.source.empty())
        throw Error("--source: this model reads no source: only an encoder-decoder does");
    if (architecture != Architecture::Encoder && !options.mask.empty())
        throw Error("--mask: this model continues a text: only an encoder fills in words");
    if (architecture == Architecture::Encoder) print_filled_in(options, writer);
    else print_written(options, writer);
}

}  // namespace

void add_sample_command(CliCommand program, int&) {
    auto options = std::make_shared<SampleOptions>();
    SamplingSettings& sampling = options->sampling;
    CliCommand command = program.command("sample", "Continue, translate or fill in a text with a trained model");
    command
        .option(
            "--model", options->model,
            "File written by attnscope train (or its folder), a GPT-2 model as .safetensors, or a published model: its folder or GGUF file")
        .shown_as("FILE|DIR");
    command.option("--preset", options->preset, "A trained example instead: stories, induction, addition, masked or translation")
        .shown_as("NAME")
        .suggest(shipped_models());
    command
        .option("--document", options->document,
                "Document saved by the window: its model, masks and edits, and its text, with what was written on, as the prompt")
        .shown_as("FILE.json");
    command
        .option("--prompt,--text", options->prompt,
                "The text to continue, or to fill in where it has a _; token ids for a model without a vocabulary")
        .shown_as("TEXT");
    command.option("--mask", options->mask, "The token that hides a word to fill in, such as its id for a model without a tokenizer")
        .shown_as("TOKEN");
    command.option("--source", options->source, "The text to translate, for an encoder-decoder").shown_as("TEXT");
    command.option("--tokens", sampling.tokens, "Tokens to generate (default: 40)").shown_as("N").between(0, kMaxSampledTokens);
    command.option("--temperature", sampling.temperature, "0: always the likeliest; 1 (default): as the model predicts; above: more varied")
        .shown_as("X")
        .check(check_number);
    command.option("--top-k", sampling.top_k, "Sample from the K likeliest only; 0 (default): from all")
        .shown_as("K")
        .check(check_whole_number);
    command.option("--top-p", sampling.top_p, "Sample only from the likeliest that together reach P; 1 (default): from all")
        .shown_as("P")
        .check(check_number);
    command.option("--min-p", sampling.min_p, "Sample only from what is at least P times as likely as the likeliest; 0 (default): from all")
        .shown_as("P")
        .check(check_number);
    command.option("--seed", sampling.seed, "The same seed gives the same text").shown_as("N").check(check_whole_number);
    command.flag("--ignore-end", options->ignore_end, "Continue past the model's end tokens");
    command.flag("--json", options->json,
                 "Print one line of JSON: prompt, text, whether the model ended it, and for every token its probability, how many the "
                 "sampler kept, and the likeliest; bytes, as numbers, for a token that is part of a character");
    command.footer(
        "Examples:\n  attnscope sample --preset stories --prompt \"Lily and Tom are in the park .\" --tokens 40\n  attnscope sample "
        "--preset translation --source \"the small cat often sees a red fox .\" --temperature 0\n  attnscope sample --model "
        "runs/my/model.safetensors --prompt \"The sea \" --tokens 200 --temperature 0.8 --top-p 0.9\n  attnscope sample --preset stories "
        "--prompt \"Lily and Tom are in the park .\" --min-p 0.05 --top-k 40 --seed 7 --json\n  attnscope sample --document "
        "my.attnscope.json --tokens 5\n  attnscope train --task copy --out "
        "runs/copy\n  attnscope sample --model runs/copy --prompt \"adbc>\" --tokens 4 --temperature 0\nThe last one prints adbc>adbc. A "
        "translation ends with the token that the source ends with; --prompt says how it begins, by\ndefault with \">\". A published model "
        "stops at the end tokens named in its files and says so on standard error; --ignore-end\ncontinues past them. Chat templates are "
        "not interpreted: a chat model continues the prompt exactly as it is.\n");
    command.on_run([options] { sample(*options); });
}

}  // namespace attn::app
