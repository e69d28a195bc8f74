#include "app/session/files/saving.hpp"

#include <limits>

#include "app/session/document/document_json.hpp"
#include "app/session/document/named_runs.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/folder.hpp"
#include "engine/train/run_folder_writer.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;

bool is_as_known(const FileStamps& known, const fs::path& path) {
    const auto found = known.find(path);
    return found != known.end() && stamp_of(path) == found->second;
}

/// What is in the way of a file; empty if it is as it was last seen, or not there.
fs::path in_the_way_of(const FileStamps& known, const fs::path& file) {
    return !stamp_of(file) || is_as_known(known, file) ? fs::path() : file;
}

/// Whether the folder still holds an earlier step of this run.
bool goes_on_in_folder(const FileStamps& known, const RunToSave& run) {
    return run.continued && is_as_known(known, run.folder / kCheckpointName);
}

/// The same for a run.
fs::path in_the_way_of_run(const FileStamps& known, const RunToSave& run) {
    expect_no_links(run.folder, run.named_here ? 1 : 0);
    if (goes_on_in_folder(known, run) || !stamp_of(run.folder)) return {};
    const std::string found = RunFolderWriter(run.folder).first_found();
    return found.empty() ? fs::path() : run.folder / found;
}

std::string text_of(const DocumentToSave& saved) {
    const fs::path folder = saved.path.parent_path();
    Document written = *saved.document;
    written.look = saved.look;
    for (const auto& [run, place] : saved.run_places) written.run_places[run] = {place.string(), place.lexically_relative(folder).string()};
    const std::shared_ptr<const std::string>& text = written.run.task.text;
    if (text != nullptr && saved.text_of_run != nullptr && *text == *saved.text_of_run) written.run.task.text.reset();
    return document_to_json(written, folder);
}

}  // namespace

SavedThings save_things(const ThingsToSave& things) {
    SavedThings done;
    const auto refuse = [&](const fs::path& path) {
        done.in_the_way = path;
        done.is_other_run = is_as_known(things.known, path);
        done.changed = things.known.contains(path) && !done.is_other_run;
        return !path.empty();
    };
    if (!things.replace) {
        for (const RunToSave& run : things.runs)
            if (refuse(in_the_way_of_run(things.known, run))) return done;
        if (things.document && refuse(in_the_way_of(things.known, things.document->path))) return done;
    }
    bool document_is_written = !things.document;
    for (const RunToSave& run : things.runs) {
        const fs::path checkpoint = run.folder / kCheckpointName;
        RunExtras extras{.most_moments = std::numeric_limits<std::size_t>::max()};
        if (things.document && things.document->path == run_document(run.folder)) {
            extras.document = text_of(*things.document);
            document_is_written = true;
        }
        make_folder(run.folder, run.named_here ? 1 : 0);
        const std::shared_ptr<const RunFolder> contents = run.contents();
        write_run_folder(run.folder, *contents, extras, goes_on_in_folder(things.known, run) ? run.continued : std::nullopt);
        if (const auto stamp = stamp_of(checkpoint)) done.stamps[checkpoint] = *stamp;
        done.run_step = contents->checkpoint.steps;
        run.saved(*done.run_step);
    }
    if (!document_is_written) write_whole_file(things.document->path, text_of(*things.document));
    if (things.document)
        if (const auto stamp = stamp_of(things.document->path)) done.stamps[things.document->path] = *stamp;
    return done;
}

}  // namespace attn::app
