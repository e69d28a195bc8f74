/// Measures the time from an edit command to the snapshot that contains its effects, at the largest teaching size; and from a letter typed
/// after 64 tokens of a published model until its layer's weights are available.
///
/// Usage: edit_latency_bench [REPEATS [MODEL_FOLDER]]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "app/session/document/model_document.hpp"
#include "app/session/session.hpp"
#include "app/session/values/part_looked_at.hpp"
#include "tests/bench/teaching_size.hpp"

namespace attn::app {
namespace {

using Clock = std::chrono::steady_clock;

int measure(int repeats) {
    Document document = teaching_size();
    document.texts = {words(64)};
    Session session(document, [] {});
    if (const auto snapshot = session.wait(); !snapshot->problem.empty()) {
        fmt::print(stderr, "{}\n", snapshot->problem);
        return 1;
    }
    std::vector<double> took, forward;
    Edit edit;
    edit.at = {Stage::Scores, 0};
    edit.sequence = 0, edit.head = 1, edit.row = 40, edit.column = 7;
    for (int i = 0; i < repeats; ++i) {
        edit.value = i + 1;
        ForwardSettings settings = session.document().forward;
        settings.edits = {edit};
        const std::uint64_t before = session.snapshot()->serial;
        const auto begin = Clock::now();
        session.apply({command::SetForward{settings}, ""});
        while (session.snapshot()->serial == before) std::this_thread::yield();
        took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
        forward.push_back(session.snapshot()->compute_ms);
        // At the rate of a dragged slider: facets of the previous edit are still being computed when the next one comes.
        std::this_thread::sleep_for(std::chrono::milliseconds(16));
    }
    fmt::print("command to snapshot: median {:.2f} ms, 90 % within {:.2f} ms; the forward pass alone: median {:.2f} ms ({} edits)\n",
               percentile(took, 0.5), percentile(took, 0.9), percentile(forward, 0.5), repeats);
    return 0;
}

int measure_typing(int repeats, const std::string& folder) {
    Document document = document_of_model(OpenedModel::open(folder));
    const std::string text = words(63);
    document.texts = {text};
    Session session(document, [] {});
    const facet::Inside shown_layer{{Stage::Norm1, 5}};
    const auto look = [&] { session.want({{session.states().shown, shown_layer}}); };
    session.wait();
    look();
    std::vector<double> took, forward;
    for (int i = 0; i < repeats; ++i) {
        // A different text each time, because results are cached.
        const std::string typed = text + " " + static_cast<char>('a' + i % 26) + static_cast<char>('a' + i / 26 % 26);
        const std::uint64_t before = session.snapshot()->serial;
        const auto begin = Clock::now();
        session.apply({command::SetTexts{{typed}, {}}, ""});
        while (session.snapshot()->serial == before) {
            session.update();
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
        forward.push_back(session.snapshot()->compute_ms);
        if (!session.results().find(session.states().shown, shown_layer)) throw Error("the layer that is looked at is not there");
        look();
    }
    fmt::print(
        "letter to snapshot and layer, {} tokens: median {:.1f} ms, 90 % within {:.1f} ms; the pass alone: median {:.1f} ms ({} letters)\n",
        session.snapshot()->trace->tokens.length, percentile(took, 0.5), percentile(took, 0.9), percentile(forward, 0.5), repeats);
    return 0;
}

}  // namespace
}  // namespace attn::app

int main(int argc, char** argv) {
    try {
        const int repeats = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
        return argc > 2 ? attn::app::measure_typing(repeats, argv[2]) : attn::app::measure(repeats);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
