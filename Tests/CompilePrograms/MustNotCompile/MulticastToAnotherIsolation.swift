// expect-error: passing closure as a 'sending' parameter risks causing data races
import Campanile

final class Member { var count = 0 }

func share(_ members: Multicast<Member>) {
  Task.detached { members.call { $0.count += 1 } }
  members.call { $0.count += 1 }
}
