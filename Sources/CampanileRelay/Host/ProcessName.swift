/// The name of the program.
enum ProcessName {
  static let own: String = {
    let path = CommandLine.arguments.first ?? ""
    return path.split(separator: "/").last.map(String.init) ?? "process"
  }()
}
