// Many delegates of one protocol, held weakly, called in the caller's isolation.
import Campanile

@MainActor
protocol PlayerDelegate: AnyObject {
  func playerDidStart(_ title: String)
  func playerDidStop()
}

@MainActor
final class Player {
  let delegates = Multicast<any PlayerDelegate>()

  func start() { delegates.call { $0.playerDidStart("Aria") } }
  func stop() { delegates.call { $0.playerDidStop() } }
}

@MainActor
final class Screen: PlayerDelegate {
  var title = ""

  init(_ player: Player) { player.delegates.add(self) }

  func playerDidStart(_ title: String) { self.title = title }
  func playerDidStop() { title = "" }
}

final class PlainMember { var count = 0 }

func callPlain() {
  let members = Multicast<PlainMember>()
  let member = PlainMember()
  let membership = members.add(member)
  members.call { $0.count += 1 }
  membership.pause()
  members.remove(member)
}
