#include "app/session/document/named_runs.hpp"

#include "engine/train/run_folder.hpp"

namespace attn::app {

NamedRuns named_runs(const Document& document) {
    NamedRuns named;
    if (document.trained) {
        std::set<std::int64_t>& steps = named[document.trained->run];
        if (document.trained->step) steps.insert(*document.trained->step);
    }
    for (const std::optional<State>* pinned : {&document.pins.a, &document.pins.b})
        if (const MomentOfRun* moment = *pinned ? moment_of(**pinned) : nullptr; moment != nullptr) named[moment->run].insert(moment->step);
    named.erase(0);
    return named;
}

void renumber_runs(Document& document, const std::map<std::uint64_t, std::uint64_t>& numbers) {
    const auto renumber = [&](std::uint64_t& run) {
        if (const auto found = numbers.find(run); found != numbers.end()) run = found->second;
    };
    if (document.trained) renumber(document.trained->run);
    for (std::optional<State>* pinned : {&document.pins.a, &document.pins.b})
        if (MomentOfRun* moment = *pinned ? std::get_if<MomentOfRun>(&(*pinned)->source) : nullptr; moment != nullptr)
            renumber(moment->run);
    std::map<std::uint64_t, RunPlace> places;
    for (auto& [run, place] : document.run_places) {
        std::uint64_t number = run;
        renumber(number);
        places[number] = std::move(place);
    }
    document.run_places = std::move(places);
}

void mark_runs_missing(Document& document) {
    std::map<std::uint64_t, std::uint64_t> numbers;
    for (const auto& [run, steps] : named_runs(document)) numbers[run] = missing_run(run);
    renumber_runs(document, numbers);
}

std::filesystem::path run_document(const std::filesystem::path& run_folder) { return run_folder / kRunDocumentName; }

std::filesystem::path run_folder_of(const std::filesystem::path& document) {
    return document.filename() == kRunDocumentName ? document.parent_path() : std::filesystem::path();
}

std::filesystem::path known_as(const std::filesystem::path& document) {
    return run_folder_of(document).empty() ? document : run_folder_of(document);
}

}  // namespace attn::app
