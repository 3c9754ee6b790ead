package users

import (
	"strconv"
	"strings"
)

func normalizeEmail(email string) string {
	return strings.ToLower(strings.TrimSpace(email))
}

func describeKeys(policy KeyPolicy) string {
	text := "keys are optional"
	if policy.Required {
		text = "keys are required"
	}
	if policy.Lifetime == 0 {
		return text + " and remembered as long as everywhere"
	}
	return text + " and remembered for " + policy.Lifetime.String()
}

func describeOverage(allowed bool) string {
	if allowed {
		return "runs beyond the quota are charged one by one"
	}
	return "no runs beyond the quota"
}

func describeQuota(quota *int64) string {
	if quota == nil {
		return "unlimited runs a month"
	}
	return strconv.FormatInt(*quota, 10) + " runs a month"
}
