/// attnscope-dev bench model: forward passes of a published model, over whole texts and token by token.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <sstream>

#include "app/dev/bench.hpp"
#include "app/dev/process_memory.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/while_intact.hpp"
#include "engine/kernels/stored_kernels.hpp"
#include "engine/model/cached_pass.hpp"
#include "engine/model/outline.hpp"
#include "engine/model/part_pass.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tensor/position_rows.hpp"
#include "engine/tensor/random.hpp"

namespace attn::app {
namespace {

constexpr std::int64_t kPasses = 5, kWarmUpPasses = 1, kRowsOfLogits = 256;

struct ModelOptions : BenchOptions {
    std::filesystem::path model;
    std::string positions = "64,256,1024";
    std::int64_t decode = 64;
};

std::vector<std::int64_t> lengths_of(const std::string& list) {
    std::vector<std::int64_t> out;
    std::stringstream stream(list);
    for (std::string item; std::getline(stream, item, ',');) {
        std::int64_t length = 0;
        const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), length);
        if (error != std::errc{} || end != item.data() + item.size() || length < 1)
            throw Error(fmt::format("--T: \"{}\" is not a number of tokens", item));
        out.push_back(length);
    }
    if (out.empty()) throw Error("--T: expected numbers of tokens, such as 64,256,1024");
    return out;
}

std::vector<std::int32_t> drawn_text(const Config& config, std::int64_t length) {
    const CounterRandom random(1, 0);
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i)
        ids.push_back(
            static_cast<std::int32_t>(random.bits(static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(config.vocab_size)));
    return ids;
}

/// A measurement in milliseconds per step.
struct Measured {
    const char* what;
    std::int64_t positions;
    double tokens;  ///< per step
    Timing timing;

    double tokens_per_second() const { return tokens / timing.median_ms * 1e3; }
};

class ModelBench {
public:
    ModelBench(const ModelFolder& folder, const ModelOptions& options)
        : folder_(folder), options_(options), threads_(use_threads(options)), parameters_(load_parameters<float>(folder)) {
        settings_.masks.causal = true;
        if (!prefix_stays(folder.config, settings_))
            throw Error("bench model measures models that write from left to right, and " + std::string(folder.family->name) + " does not");
        for (const std::int64_t length : lengths_of(options.positions)) {
            if (length > folder.config.longest_text())
                throw Error(fmt::format("--T: {} tokens exceed the model's context length of {}", length, folder.config.longest_text()));
            lengths_.push_back(length);
        }
    }

    std::vector<Measured> run() {
        std::vector<Measured> out;
        for (const std::int64_t length : lengths_) out.push_back({"forward", length, static_cast<double>(length), time_forward(length)});
        for (const std::int64_t length : lengths_) out.push_back({"prefill", length, static_cast<double>(length), time_prefill(length)});
        if (options_.decode > 0) out.push_back({"decode", lengths_.front(), 1, time_decode(lengths_.front())});
        out.push_back({"read", 0, 0, time_reading()});
        return out;
    }
    int threads() const { return threads_; }
    double gigabytes() const { return static_cast<double>(folder_.weights->bytes()) * 1e-9; }

private:
    Timing time(const std::function<void()>& step) const {
        StepTimes times(active_kernel_build(), threads_);  // no share of the peak is shown
        const std::int64_t steps = options_.steps > 0 ? options_.steps : kPasses;
        for (std::int64_t i = -kWarmUpPasses; i < steps; ++i) times.run(step, i >= 0);
        return times.timing();
    }

    /// All layers as an outline, plus the logits at every position.
    Timing time_forward(std::int64_t length) const {
        const TokenBatch tokens{length, drawn_text(folder_.config, length), {static_cast<std::int32_t>(length)}};
        PartPass<float> head(*parameters_, settings_);
        const StageId last = head.plan().streams(Stack::Main).back();
        return time([&] {
            const Trace<float> outline = trace_outline<float>(parameters_, tokens, {}, settings_);
            const Tensor<float>& stream = outline.find(last)->value;
            for (std::int64_t first = 0; first < length; first += kRowsOfLogits) {
                const std::int64_t rows = std::min(kRowsOfLogits, length - first);
                Tensor<float> some(with_positions(stream.shape(), rows));
                copy_positions(stream, first, some, 0, rows);
                head.give(last, std::move(some));
                head.forward_after(last);
            }
        });
    }

    /// A whole text, plus the logits after its last token.
    Timing time_prefill(std::int64_t length) const {
        const std::vector<std::int32_t> text = drawn_text(folder_.config, length);
        CachedPass<float> pass(*parameters_, settings_);
        return time([&] {
            pass.shrink(0);
            pass.extend(text);
        });
    }

    /// Token by token after a text.
    Timing time_decode(std::int64_t length) const {
        const std::int64_t steps = std::min(options_.decode, folder_.config.longest_text() - length);
        if (steps < 1) throw Error("--decode: the text fills the model's context");
        const std::vector<std::int32_t> text = drawn_text(folder_.config, length + steps);
        CachedPass<float> pass(*parameters_, settings_);
        pass.extend(std::span(text).first(static_cast<std::size_t>(length)));
        StepTimes times(active_kernel_build(), threads_);  // no share of the peak is shown
        for (std::int64_t i = 0; i < steps; ++i)
            times.run([&] { pass.extend(std::span(text).subspan(static_cast<std::size_t>(length + i), 1)); }, true);
        return times.timing();
    }

    /// Reads every byte of the weights once, a lower bound for generating a token without batching.
    Timing time_reading() const {
        std::uint64_t sum = 0;
        const Timing timing = time([&] {
            for (const WeightFiles::Tensor& tensor : folder_.weights->tensors()) sum += sum_of_words(tensor.array.bytes);
        });
        read_sum_ = sum;
        return timing;
    }

    static std::uint64_t sum_of_words(std::span<const std::byte> bytes) {
        constexpr std::int64_t kWord = sizeof(std::uint64_t), kGrain = 1 << 16;
        // Tensors of GGUF files and safetensors may begin anywhere.
        const std::int64_t before = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(bytes.data()) % kWord);
        const std::int64_t count = std::max<std::int64_t>(0, static_cast<std::int64_t>(bytes.size()) - before) / kWord;
        if (count == 0) return 0;
        const auto* words = reinterpret_cast<const std::uint64_t*>(bytes.data() + before);
        std::atomic<std::uint64_t> total{0};
        parallel_ranges(count, kGrain, 1, [&](std::int64_t first, std::int64_t last) {
            total += stored_kernels().sum_of_words(words + first, last - first);
        });
        return total;
    }

    const ModelFolder& folder_;
    const ModelOptions& options_;
    int threads_;
    std::shared_ptr<const Parameters<float>> parameters_;
    ForwardSettings settings_;
    std::vector<std::int64_t> lengths_;
    mutable std::uint64_t read_sum_ = 0;  ///< stored so that the compiler does not optimise the reads away
};

std::string text_of(const Measured& m) {
    std::string text = fmt::format("{:<8} {:>5}  {:9.2f} ms (min {:.2f})", m.what, m.positions, m.timing.median_ms, m.timing.min_ms);
    return m.tokens > 0 ? fmt::format("{}  {:8.1f} tokens/s", text, m.tokens_per_second()) : text;
}

Json json_of(const Measured& m) {
    Json out{{"what", m.what}, {"steps", m.timing.count}, {"ms_median", m.timing.median_ms}, {"ms_min", m.timing.min_ms}};
    if (m.tokens == 0) return out;
    out["T"] = m.positions;
    out["tokens_per_s"] = m.tokens_per_second();
    return out;
}

void run(const ModelOptions& options) {
    const ModelFolder folder = open_model_folder(options.model);
    ModelBench bench(folder, options);
    const std::vector<Measured> all = while_intact(*folder.weights, [&] { return bench.run(); });
    const double read = bench.gigabytes() / all.back().timing.median_ms * 1e3;
    if (!options.json) {
        fmt::print("{}: {}, {:.2f} GB of weights\n", options.model.string(), folder.family->name, bench.gigabytes());
        for (const Measured& m : all) fmt::print("{}\n", text_of(m));
        fmt::print("reading the weights once: {:.1f} GB/s; peak memory {:.0f} MiB; kernels {}, {} thread{}, load average {:.1f}\n", read,
                   static_cast<double>(process_memory().peak) / (1 << 20), kernel_build_name(active_kernel_build()), bench.threads(),
                   bench.threads() == 1 ? "" : "s", load_average());
        return;
    }
    Json measured = Json::list();
    for (const Measured& m : all) measured.push_back(json_of(m));
    const Json line{{"bench", "model"},
                    {"model", options.model.string()},
                    {"family", std::string(folder.family->name)},
                    {"gigabytes", bench.gigabytes()},
                    {"measured", measured},
                    {"read_gigabytes_per_s", read},
                    {"peak_memory_bytes", process_memory().peak},
                    {"kernels", kernel_build_name(active_kernel_build())},
                    {"threads", bench.threads()},
                    {"load_average", load_average()}};
    fmt::print("{}\n", line.dump());
}

}  // namespace

void add_bench_model(CliCommand bench) {
    auto options = std::make_shared<ModelOptions>();
    CliCommand command = bench.command("model", "Measure passes over a published model");
    command.option("--model", options->model, "Folder or file of a model").required().shown_as("DIR");
    command.option("--T", options->positions, "Lengths of text, separated by commas (default: 64,256,1024)").shown_as("N,N,...");
    command.option("--decode", options->decode, "Tokens decoded one by one after the first length; 0: none").between(0, 100'000);
    add_bench_options(command, *options);
    command.footer("Forward computes every layer and the logits of every position, and keeps what is needed to show every stage. Prefill "
                   "computes\nthe logits after the last token only, decode those after one more token. Read is the time to read the "
                   "weights once from memory:\nno token can be computed faster. The texts are random tokens.");
    command.on_run([options] { run(*options); });
}

}  // namespace attn::app
