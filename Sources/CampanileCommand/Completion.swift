/// Completion scripts for shells.
enum Completion {
  static func script(for shell: Arguments.Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  private static var shells: String {
    Arguments.Shell.allCases.map(\.rawValue).joined(separator: " ")
  }

  private static var names: String { Syntax.all.map(\.name).joined(separator: " ") }

  private static func options(_ syntax: Syntax) -> String {
    (syntax.options + [.help]).map { "--\($0)" }.joined(separator: " ")
  }

  /// The names of some options, as a pattern of a shell.
  private static func of(_ isMeant: (Option) -> Bool) -> String {
    Option.listed.filter(isMeant).map { "--\($0)" }.joined(separator: "|")
  }

  private static var bash: String {
    let cases = Syntax.all.map { "    \($0.name)) words=\"\(options($0))\" ;;" }
    return """
      # In ~/.bashrc: eval "$(campanile completion bash)"
      _campanile() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
        case $before in
          --folder) COMPREPLY=($(compgen -d -- "$word")); return ;;
          \(of { $0.isFile })) COMPREPLY=($(compgen -f -- "$word")); return ;;
          \(of { $0.value != nil })) COMPREPLY=(); return ;;
          completion) COMPREPLY=($(compgen -W "\(shells)" -- "$word")); return ;;
        esac
        if ((COMP_CWORD == 1)); then
          words="\(names) --help --version"
        else
          case ${COMP_WORDS[1]} in
      \(cases.map { "      " + $0.drop { $0 == " " } }.joined(separator: "\n"))
          esac
        fi
        COMPREPLY=($(compgen -W "$words" -- "$word"))
      }
      complete -F _campanile campanile
      """
  }

  private static var zsh: String {
    let commands = Syntax.all.map { "    \(quoted("\($0.name):\($0.summary)"))" }
    let cases = Syntax.all.map { syntax in
      let specs = (syntax.options + [.help]).map { option in
        let value =
          option.value.map {
            ":\($0):" + (option == .folder ? "_directories" : option.isFile ? "_files" : "")
          } ?? ""
        return quoted("--\(option)[\(option.summary)]\(value)")
      }
      let operand = syntax.name == "completion" ? [quoted("1:shell:(\(shells))")] : []
      return "    \(syntax.name)) _arguments \((specs + operand).joined(separator: " ")) ;;"
    }
    return """
      #compdef campanile
      # In ~/.zshrc, after compinit: eval "$(campanile completion zsh)"
      _campanile() {
        local -a commands=(
      \(commands.joined(separator: "\n"))
        )
        if ((CURRENT == 2)); then
          _describe command commands
          return
        fi
        local name=$words[2]
        shift words
        ((CURRENT--))
        case $name in
      \(cases.joined(separator: "\n"))
        esac
      }
      compdef _campanile campanile
      """
  }

  private static var fish: String {
    var lines = [
      "# In ~/.config/fish/config.fish: campanile completion fish | source",
      "complete -c campanile -f",
    ]
    let isFirst = "-n __fish_use_subcommand"
    for syntax in Syntax.all {
      lines.append(
        "complete -c campanile \(isFirst) -a \(syntax.name) -d \(quoted(syntax.summary))")
      for option in syntax.options {
        let value =
          option.value == nil ? "" : option.value == "PATH" ? " -r -F" : " -x"
        lines.append(
          "complete -c campanile -n '__fish_seen_subcommand_from \(syntax.name)' "
            + "-l \(option)\(value) -d \(quoted(option.summary))")
      }
    }
    lines.append(
      "complete -c campanile -n '__fish_seen_subcommand_from completion' -a '\(shells)'")
    for option in [Option.help, .version] {
      lines.append("complete -c campanile -l \(option) -d \(quoted(option.summary))")
    }
    return lines.joined(separator: "\n")
  }

  /// A text in single quotes, for a shell.
  private static func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
      + "'"
  }
}
