// Many delegates of one protocol, held weakly, called in the caller's isolation.
import Campanile

@MainActor
protocol PlayerDelegate: AnyObject {
  func playerDidStart(_ title: String)
  func playerDidStop()
  func playerWillOpen(_ file: String) throws
}

@MainActor
final class Player {
  let delegates = Multicast<any PlayerDelegate>()

  func start() { delegates.call { $0.playerDidStart("Aria") } }
  func stop() { delegates.call { $0.playerDidStop() } }
  func open(_ file: String) throws { try delegates.call { try $0.playerWillOpen(file) } }
}

@MainActor
final class Screen: PlayerDelegate {
  var title = ""

  init(_ player: Player) { player.delegates.add(self) }

  func playerDidStart(_ title: String) { self.title = title }
  func playerDidStop() { title = "" }
  func playerWillOpen(_ file: String) throws {
    if file.isEmpty { throw Unnamed() }
  }
}

struct Unnamed: Error {}

final class PlainMember { var count = 0 }

func callPlain() {
  let members = Multicast<PlainMember>()
  let member = PlainMember()
  let membership = members.add(member)
  members.call { $0.count += 1 }
  do throws(Unnamed) {
    try members.call { (member) throws(Unnamed) in
      if member.count > 1 { throw Unnamed() }
    }
  } catch {
    print(error)
  }
  membership.pause()
  members.remove(member)
}
