import CampanileRelay

/// The parsed command line.
struct Arguments {
  /// The work of a command.
  enum Action {
    /// Writes a text.
    case write(String)
    /// Runs on the bus, as a relay of this name.
    case onBus(String, becomesHub: Bool = false, @Sendable (Session) async throws -> Ending)
    case measure(Bench)
  }

  enum Shell: String, CaseIterable {
    case bash, zsh, fish
  }

  /// An error in the command line, described in one sentence.
  struct Mistake: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  let action: Action
  private(set) var bus = BusName()

  /// Parses the arguments that follow the program's name.
  init(_ arguments: some Sequence<String>) throws(Mistake) {
    let words = try Words(arguments)
    if words.has(.help) || words.positional.first == "help" {
      action = .write(Syntax.usage)
      return
    }
    if words.has(.version) {
      // No version has been released yet.
      action = .write("campanile unreleased")
      return
    }
    guard let name = words.positional.first else {
      throw Mistake("A command is missing; see campanile help.")
    }
    guard let syntax = Syntax.all.first(where: { $0.name == name }) else {
      throw Mistake("There is no command '\(name)'; see campanile help.")
    }
    let operands = Array(words.positional.dropFirst())
    try syntax.accept(words, operands)
    bus = try BusName(words)
    switch name {
    case "listen":
      let pattern = try Self.pattern(operands[0])
      let (group, count) = (try Self.group(try words.text(.group)), try words.number(.count))
      let json = words.has(.json)
      action = .onBus(name) {
        try await $0.listen(pattern, oneOf: group, json: json, count: count)
      }
    case "post":
      let (subject, json) = (try Self.subject(operands[0]), try Self.json(operands[1]))
      action = .onBus(name) { try await $0.post(json, to: subject) }
    case "request":
      let (subject, json) = (try Self.subject(operands[0]), try Self.json(operands[1]))
      let limit = try words.seconds(.within) ?? .seconds(5)
      action = .onBus(name) { try await $0.request(json, of: subject, within: limit) }
    case "peers": action = .onBus(name) { try await $0.listPeers() }
    case "hub": action = .onBus(name, becomesHub: true) { try await $0.stay() }
    case "bench" where words.has(.receiver):
      action = .onBus("bench receiver") { try await $0.receive() }
    case "bench":
      let (count, size) = (try words.number(.count), try words.number(.bytes) ?? 128)
      try check(size <= 1 << 16, "--bytes takes 65536 at the most, not \(size).")
      action = .measure(Bench(count: count ?? 200_000, size: size))
    default:
      guard let shell = Shell(rawValue: operands[0]) else {
        throw Mistake("completion is for bash, zsh and fish, not for '\(operands[0])'.")
      }
      action = .write(Completion.script(for: shell))
    }
  }

  private static func pattern(_ text: String) throws(Mistake) -> String {
    try check(
      (try? SubjectPattern(validating: text)) != nil,
      "'\(text)' is no pattern: it takes tokens with dots between them, * for any token, and > at "
        + "the end for one or more.")
    return text
  }

  private static func group(_ name: String?) throws(Mistake) -> String? {
    let count = name?.utf8.count ?? 0
    try check(count <= 256, "--group takes 256 bytes at the most, not \(count).")
    return name
  }

  private static func subject(_ text: String) throws(Mistake) -> String {
    try check(
      SubjectName.isName(text),
      "'\(text)' is no subject: it takes tokens with dots between them, without spaces, * and >.")
    return text
  }

  private static func json(_ text: String) throws(Mistake) -> String {
    try check(
      MessageText.isJSON(Array(text.utf8)),
      "'\(text)' is no JSON; a text needs quotes: '\"text\"'.")
    return text
  }
}

/// Throws a mistake unless the command line is right.
func check(
  _ isRight: Bool, _ mistake: @autoclosure () -> String
) throws(Arguments.Mistake) {
  if !isRight { throw Arguments.Mistake(mistake()) }
}

/// The arguments, separated into operands and options.
struct Words {
  private(set) var positional: [String] = []
  private(set) var options: [Option: String] = [:]

  init(_ arguments: some Sequence<String>) throws(Arguments.Mistake) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        positional += rest
        return
      }
      if !argument.hasPrefix("-") || argument == "-" {
        positional.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map(String.init)
      let name = parts[0] == "-h" ? "--help" : parts[0]
      guard let option = Option(rawValue: String(name.dropFirst(2))), name.hasPrefix("--") else {
        throw Arguments.Mistake(
          "There is no option \(parts[0]); see campanile help. "
            + "What begins with a - and is no option comes after --.")
      }
      if option.value == nil {
        try check(parts.count == 1, "\(name) takes no value.")
        options[option] = ""
        continue
      }
      guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
        throw Arguments.Mistake("\(name) needs a value.")
      }
      options[option] = value
    }
  }

  func has(_ option: Option) -> Bool { options[option] != nil }

  func text(_ option: Option) throws(Arguments.Mistake) -> String? {
    let text = options[option]
    try check(text != "", "--\(option) needs a value that is not empty.")
    return text
  }

  func number(_ option: Option) throws(Arguments.Mistake) -> Int? {
    try value(option, "a whole number from 1 on") { Int($0).flatMap { $0 > 0 ? $0 : nil } }
  }

  /// At most 30 days.
  func seconds(_ option: Option) throws(Arguments.Mistake) -> Duration? {
    try value(option, "a positive number of seconds") { text in
      Double(text).flatMap { $0 > 0 && $0 <= 2_592_000 ? .seconds($0) : nil }
    }
  }

  private func value<Value>(
    _ option: Option, _ kind: String, _ read: (String) -> Value?
  ) throws(Arguments.Mistake) -> Value? {
    guard let text = options[option] else { return nil }
    if let value = read(text) { return value }
    throw Arguments.Mistake("--\(option) needs \(kind), not '\(text)'.")
  }
}
