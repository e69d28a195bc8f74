#include "app/web/page_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "app/application.hpp"
#include "app/cli/lesson_options.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

std::optional<char> escaped_byte(std::string_view digits) {
    unsigned byte = 0;
    if (digits.size() < 2) return std::nullopt;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, byte, 16);
    return error == std::errc() && end == digits.data() + 2 ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = text[i] == '%' ? escaped_byte(text.substr(i + 1)) : std::nullopt;
        plain += byte.value_or(text[i] == '+' ? ' ' : text[i]);
        if (byte) i += 2;
    }
    return plain;
}

/// "3,1" -> {3, 1}; none for anything else.
std::optional<std::array<std::int64_t, 2>> parse_cell(std::string_view text) {
    std::array<std::int64_t, 2> cell{};
    const char* const end = text.data() + text.size();
    const auto query = std::from_chars(text.data(), end, cell[0]);
    if (query.ec != std::errc() || query.ptr == end || *query.ptr != ',') return std::nullopt;
    const auto key = std::from_chars(query.ptr + 1, end, cell[1]);
    return key.ec == std::errc() && key.ptr == end ? std::optional(cell) : std::nullopt;
}

std::string check_cell(const std::string& text) { return parse_cell(text) ? "" : "'" + text + "' is not QUERY,KEY"; }

/// As the window has it: the theme is a setting, unless the link says it.
ViewOptions no_view_options() {
    ViewOptions none;
    none.theme.clear();
    return none;
}

void choose_cell(const PageLink& link, const Trace<float>& trace, ViewState& view) {
    const std::array<std::int64_t, 2> cell = parse_cell(link.cell).value();
    const std::int64_t length = trace.tokens.lengths.front();
    for (const std::int64_t index : cell)
        if (index < 0 || index >= length)
            throw Error(fmt::format("there is no cell {}: the text has {} positions, from 0", link.cell, length));
    view.locked.set(Axis::T, cell[0]);
    view.locked.set(Axis::S, cell[1]);
}

}  // namespace

std::vector<std::string> arguments_of_link(std::string_view query) {
    std::vector<std::string> arguments;
    if (query.starts_with('?')) query.remove_prefix(1);
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(one.size() + 1, query.size()));
        if (one.empty()) continue;
        const std::size_t equal = std::min(one.find('='), one.size());
        const std::string value = unescaped(one.substr(std::min(equal + 1, one.size())));
        arguments.push_back("--" + unescaped(one.substr(0, equal)) + (value.empty() ? "" : "=" + value));
    }
    return arguments;
}

bool PageLink::looks() const {
    ViewOptions none = no_view_options();
    none.theme = view.theme;
    return view != none || !cell.empty();
}

PageLink read_link(std::string_view query) {
    PageLink link;
    link.view = no_view_options();
    std::string lesson;
    std::int64_t step = 1;
    CommandLine line("page", "", "");
    CliCommand program = line.program();
    add_document_options(program, link.start.document, "");
    add_view_options(program, link.view);
    const Argument named = program.option("--lesson", lesson, "Lesson to open").shown_as("NAME");
    program.option("--step", step, "Step of the lesson, from 1").shown_as("N").needs(named);
    program.option("--cell", link.cell, "The chosen cell, from 0").shown_as("QUERY,KEY").check(check_cell);
    std::vector<std::string> arguments = arguments_of_link(query);
    std::string name = "page";
    std::vector<char*> pointers{name.data()};
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    line.parse(static_cast<int>(pointers.size()), pointers.data());
    if (lesson.empty()) return link;
    link.start.lesson = find_lesson(lesson);
    link.start.lesson_step = lesson_step_index(*link.start.lesson, step);
    return link;
}

void look_there(const PageLink& link, Application& application) {
    if (!link.looks()) return;
    Session& session = application.session();
    const std::shared_ptr<const Snapshot> snapshot = session.wait();
    if (!snapshot->problem.empty()) throw Error(snapshot->problem);
    const Document& document = session.document();
    application.view() = make_view(link.view, *snapshot->trace, opening_look(document), document.look.has_value());
    if (!link.cell.empty()) choose_cell(link, *snapshot->trace, application.view());
}

}  // namespace attn::app
